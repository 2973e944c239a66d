"""What the splitter works on: lines of a message, some of them inside a frame."""

from dataclasses import dataclass

SMALLEST_LIMIT = 400
"""Below this the fences of a code block would leave too little room for what they hold."""

_LONGEST_REOPENING = SMALLEST_LIMIT // 2


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A code block around lines; a message that continues it opens it again.

    Two frames are never equal, so that neighbouring blocks of one language stay apart.
    """

    opening: str
    reopening: str
    closing: str = "```"


@dataclass(frozen=True, slots=True)
class Line:
    """One line as Discord will get it.

    `glued` lines stay in the message of the line before them where that is possible.
    """

    text: str
    frame: Frame | None = None
    glued: bool = False

    @property
    def blank(self) -> bool:
        """Whether the line shows nothing; inside a frame it is content all the same."""
        return self.text.strip() in ("", ">")


def fence(language: str = "", repeated: tuple[str, ...] = ()) -> Frame:
    """A code block; `repeated` lines stand at the top of every message that continues it."""
    opening = f"```{language}"
    reopening = "\n".join((opening, *repeated))
    return Frame(opening, reopening if len(reopening) <= _LONGEST_REOPENING else opening)
