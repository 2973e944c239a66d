"""Long and many-coloured Markdown, to see what becomes of it on the other side."""

from itertools import count

LINES_PER_PART = 40

MARKDOWN = """\
# Heading one
## Heading two
### Heading three
#### Heading four
##### Heading five
###### Heading six

A paragraph with **bold**, *italic*, ***both***, ~~struck~~, `inline code`, a
[link to the documentation](https://docs.claude.com/en/docs/claude-code) and a bare one:
https://example.com/a_path_(with)_marks?q=1&r=2. Not emphasis: snake_case_name, 2 * 3 * 4.

> A quote of one line.
>
> > A quote within a quote, and **bold** in it.

- a list
  - nested once
    - nested twice, with `code`
- [x] done
- [ ] still to do

1. first
2. second
   1. second, first part
10. tenth

| Module | Lines | What it does |
|:-------|------:|:------------:|
| `inbox.py` | 212 | takes **each** event once |
| `outbox.py` | 187 | sends \\| edits, newest state wins |
| `render/tables.py` | 94 | makes tables readable 表 |

```python
def greet(name: str) -> str:
    \"\"\"Say hello.\"\"\"
    return f"Hello, {name}!"  # a comment
```

```typescript
export const greet = (name: string): string => `Hello, ${name}!`;
```

```bash
for f in *.txt; do echo "$f: $(wc -l < "$f")"; done
```

````markdown
A fence inside a fence:
```json
{"nested": true, "n": [1, 2, 3]}
```
````

```diff
- old line
+ new line
```

---

Line one with a hard break\\
line two. HTML stays text: <b>not bold</b> & <script>alert(1)</script>. Footnote[^1].

[^1]: The footnote's text. END-OF-MARKDOWN"""


def long_text(characters: int) -> str:
    """At least that much Markdown: parts with a heading, a code fence and, at times, a table."""
    parts: list[str] = []
    size = 0
    for n in count(1):
        if size >= characters:
            break
        parts.append(_part(n))
        size += len(parts[-1])
    return "\n".join([*parts, "END-OF-LONG"])


def _part(n: int) -> str:
    lines = "\n".join(f"value_{n}_{k} = {k} * {n}" for k in range(LINES_PER_PART))
    return f"### Part {n}\n\n{_table(n) if n % 2 == 0 else ''}```python\n{lines}\n```\n"


def _table(n: int) -> str:
    rows = "\n".join(f"| {k} | {k * n} | {'odd' if k * n % 2 else 'even'} |" for k in range(1, 5))
    return f"| k | k * {n} | parity |\n|--:|--:|:--|\n{rows}\n\n"
