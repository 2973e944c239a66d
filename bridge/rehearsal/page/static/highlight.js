// Light syntax colours: enough to read by, one pass, no grammar.

import { h } from "./dom.js";

const HASH = new Set(["python", "py", "bash", "sh", "shell", "zsh", "yaml", "yml", "toml", "ruby", "rb", "r", "dockerfile", "makefile", "ini", "perl"]);
const DASH = new Set(["sql", "lua", "haskell", "hs"]);
const PLAIN = new Set(["", "text", "txt", "plain", "md", "markdown", "plaintext", "log", "console"]);
const KEYWORDS = new Set(
  ("abstract and as assert async await bool boolean break case catch char class const continue " +
    "def default del delete do double elif else enum except export extends extern false False final finally " +
    "float fn for from func function global go goto if impl implements import in int interface is lambda let " +
    "long match mod mut namespace new nil None not null or package pass private protected pub public raise " +
    "readonly return self short static string struct super switch then this throw trait true True try type " +
    "typedef typeof undefined union unsafe until use var void while with yield fi done esac echo export local " +
    "select insert update where join create table drop values SELECT FROM WHERE INSERT INTO UPDATE SET DELETE " +
    "JOIN ON GROUP BY ORDER CREATE TABLE AND OR NOT NULL").split(" "),
);

/** The code as an array of nodes and strings. */
export function highlight(code, language) {
  const lang = language.toLowerCase();
  if (lang === "diff" || lang === "patch") return lines(code, diffClass);
  if (lang === "ansi") return ansi(code);
  if (PLAIN.has(lang)) return [code];
  return [...tokens(code, lang)];
}

function* tokens(code, lang) {
  const comment = HASH.has(lang) ? "#[^\\n]*" : DASH.has(lang) ? "--[^\\n]*" : "//[^\\n]*|/\\*[\\s\\S]*?\\*/";
  const pattern = new RegExp(
    `(?<comment>${lang === "json" ? "(?!)" : comment})` +
      '|(?<string>"""[\\s\\S]*?"""|\'\'\'[\\s\\S]*?\'\'\'|"(?:\\\\.|[^"\\\\\\n])*"|\'(?:\\\\.|[^\'\\\\\\n])*\'|`(?:\\\\.|[^`\\\\])*`)' +
      "|(?<number>\\b(?:0x[\\da-f]+|\\d[\\d_]*(?:\\.\\d+)?(?:e[+-]?\\d+)?)\\b)" +
      "|(?<word>[A-Za-z_$][\\w$]*)(?<call>\\s*\\()?",
    "gi",
  );
  let at = 0;
  for (const match of code.matchAll(pattern)) {
    const { comment, string, number, word, call } = match.groups;
    const kind = comment ? "comment" : string ? "string" : number ? "number" : KEYWORDS.has(word) ? "keyword" : call ? "call" : null;
    if (!kind) continue;
    const text = word ?? match[0];
    if (match.index > at) yield code.slice(at, match.index);
    yield h("span", { class: `hl-${kind}` }, text);
    at = match.index + text.length;
  }
  if (at < code.length) yield code.slice(at);
}

function lines(code, classOf) {
  return code.split(/(?<=\n)/).map((line) => {
    const kind = classOf(line);
    return kind ? h("span", { class: kind }, line) : line;
  });
}

function diffClass(line) {
  if (/^(@@|diff |index |\+\+\+|---)/.test(line)) return "hl-comment";
  if (line.startsWith("+")) return "hl-added";
  if (line.startsWith("-")) return "hl-removed";
  return null;
}

function ansi(code) {
  let kind = "";
  return code.split(/(\u001b\[[\d;]*m)/).map((part) => {
    const escape = /^\u001b\[([\d;]*)m$/.exec(part);
    if (!escape) return kind ? h("span", { class: kind }, part) : part;
    const codes = escape[1].split(";").map(Number);
    const colour = codes.find((value) => value >= 30 && value <= 37);
    kind = [codes.includes(1) && "hl-bold", codes.includes(4) && "hl-underlined", colour && `hl-ansi-${colour}`].filter(Boolean).join(" ");
    return null;
  });
}
