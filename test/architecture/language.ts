/**
 * Checks the English of the project: comments, test names, messages and documents must not use the words that
 * docs/glossary.md rejects, nor phrases that readers had to read twice. CONTRIBUTING.md describes the rules, and this
 * file lists the phrases.
 */
import {
  isCallExpression,
  isIdentifier,
  isNoSubstitutionTemplateLiteral,
  isPropertyAccessExpression,
  isStringLiteral,
  isTemplateExpression,
  SyntaxKind,
  type Node,
} from "typescript/unstable/ast";
import { walk, type Source, type TextFile, type Violation } from "./sources.ts";

type Prose = "comment" | "test name" | "message" | "document";

interface Passage {
  readonly path: string;
  readonly line: number;
  readonly kind: Prose;
  readonly text: string;
}

interface Rule {
  readonly pattern: RegExp;
  readonly advice: string;
}

interface Exception {
  readonly path: RegExp;
  readonly text: RegExp;
  readonly reason: string;
}

interface Excused {
  readonly exceptions: readonly Exception[];
  /** The exceptions that have allowed at least one passage. */
  readonly used: Set<Exception>;
}

const OWN_PATH = "test/architecture/language.ts";
const GLOSSARY_PATH = "docs/glossary.md";

/**
 * Regular expressions for phrases without an actor, and for everyday words where the field has a term. Each entry names
 * the alternative.
 */
const BANNED_PHRASES: readonly (readonly [phrase: string, advice: string])[] = [
  ["(?:is|are|be|was|were|been|being) told", "name the actor: notifies, reports, publishes, receives"],
  ["(?:is|are|be|was|were) said", "name the actor: reports, returns, documents"],
  ["who comes", "new requests, new clients"],
  ["wish(?:es|ed)?", "request, option"],
  ["let go", "release, free, delete"],
  ["goes by the", "is identified by, has the"],
  ["stands? (?:on|in|there|twice|aside|beside|behind|before|between)", "is, is set, is stored"],
  ["read again", "reloaded, read a second time"],
  ["tak(?:e|es|en|ing) (?:it |them )?for (?:gone|dead|departed)", "treat as deleted, treat as departed"],
  ["what is (?:there|gone|left|wrong|under way)", "existing objects, deleted objects, remaining objects, the error"],
  ["(?:what|who) (?:cannot be|is not|is no|has no)", "the noun: an object that cannot be …"],
  ["lies? in the store", "is stored"],
  ["put aside", "rotated, kept for later"],
  ["an end in order", "graceful shutdown"],
  ["who gets none", "a client that receives none"],
  ["by which rule it", "the rule by which"],
  ["strangers?", "anonymous users, unknown servers"],
  ["at its own door|through (?:its|the status) door", "the subresource, the endpoint"],
  ["out of reach", "unreachable"],
  ["held against", "compared with, validated against"],
  ["(?:is|are|was|were) looked (?:at|after|into)", "is checked, is reconciled"],
  ["anew", "again"],
  ["in vain", "without success"],
  ["as ever", "as before, as without it"],
  ["(?:goes|go|went|going) on", "continues"],
  ["for good", "permanently"],
  ["come(?:s)? (?:again|back)", "retry, return, restart"],
  ["(?:was|were|is|are) given up", "was aborted, timed out"],
  ["(?:can|cannot) be had", "can be fetched"],
  ["on its way out", "terminating, draining"],
  ["that (?:is|are) none", "an invalid …"],
  ["says? so", "reports it, logs it"],
  ["(?:of|for) whom", "whose, for which"],
  ["in (?:its|their|kubernetes'|Go's) words", "with the message of"],
  ["as the (?:test|script|sentence above) says", "the condition itself"],
];

/** British spellings. The project uses American spelling, as kubernetes does. */
const BRITISH =
  /\b(?:behaviour|colour|honour|favour|neighbour|catalogue|centre|licence|(?:serial|organ|recogn|initial|normal|general|minim|optim|authoris|summar|emphas)is(?:e|es|ed|ing|ation)|cancelled|cancelling|labelled|modelled|travell(?:ed|ing))\w*\b/i;

/** A sentence that begins with "What …" or "Who …" and is no question hides its subject. Headings may begin so. */
const SUBJECTLESS = /(?:^|[.:;] )(?:What|Whatever|Who|Whoever|Whom)\b(?![^.;]*\?)/;

const EXCEPTIONS: readonly Exception[] = [
  {
    path: /./,
    text: /connections? (?:\w+ ){0,2}refused|refused connection|[Rr]efused, unreachable/,
    reason: "TCP's word",
  },
  { path: /^src\/client\//, text: /\brefused\b/, reason: "the failure code of a transport for a refused connection" },
  { path: /./, text: /field-loss=refuse|"refuse"/, reason: "the value of a flag" },
  { path: /./, text: /operation cancelled: actual cost limit/, reason: "a message of cel-go" },
];

export function checkLanguage(
  sources: readonly Source[],
  files: readonly TextFile[],
  exceptions: readonly Exception[] = EXCEPTIONS,
): readonly Violation[] {
  const rules = [...phraseRules(), ...glossaryRules(files), ...spellingRules()];
  const passages = [...sources.flatMap(passagesOf), ...documentPassages(files), ...scriptPassages(files)];
  const used = new Set<Exception>();
  const violations = passages.flatMap((passage) => broken(passage, rules, { exceptions, used }));
  const unused = exceptions.filter((exception) => !used.has(exception));
  return [
    ...violations,
    ...unused.map(({ reason }) => ({
      path: OWN_PATH,
      line: 1,
      message: `has an unused exception (${reason}): remove it`,
    })),
  ];
}

function broken(passage: Passage, rules: readonly Rule[], { exceptions, used }: Excused): Violation[] {
  return rules.flatMap(({ pattern, advice }) => {
    const found = pattern.exec(passage.text);
    if (found === null) return [];
    const exception = exceptions.find(({ path, text }) => path.test(passage.path) && text.test(passage.text));
    if (exception !== undefined) {
      used.add(exception);
      return [];
    }
    const around = passage.text.slice(Math.max(0, found.index - 30), found.index + found[0].length + 30);
    const message = `a ${passage.kind} says "${found[0].trim()}" (…${around}…): write ${advice}`;
    return [{ path: passage.path, line: passage.line, message }];
  });
}

function phraseRules(): Rule[] {
  return BANNED_PHRASES.map(([phrase, advice]) => ({ pattern: new RegExp(`\\b(?:${phrase})\\b`, "i"), advice }));
}

function spellingRules(): Rule[] {
  return [
    { pattern: BRITISH, advice: "the American spelling" },
    { pattern: SUBJECTLESS, advice: "the noun that the clause is about" },
  ];
}

/** Rules from the table rows of the glossary, | use | meaning | not |: the words of the last column are rejected. */
function glossaryRules(files: readonly TextFile[]): Rule[] {
  const glossary = files.find(({ path }) => path === GLOSSARY_PATH)?.text ?? "";
  return glossary
    .split("\n")
    .map((line) => line.split("|").map((cell) => cell.trim()))
    .filter((cells) => cells.length === 5 && cells[3] !== "not" && !/^-*$/.test(cells[3] ?? ""))
    .flatMap(([, use, , not]) =>
      (not ?? "").split(", ").map((word) => ({ pattern: wordPattern(word), advice: `"${use}" (docs/glossary.md)` })),
    );
}

/** Matches the word and its regular endings. */
function wordPattern(word: string): RegExp {
  const stem = word.replace(/e$/, "");
  return new RegExp(`\\b(?:${word}s?|${stem}(?:ed|ing|es|er|ers|al|als))\\b`, "i");
}

function passagesOf(source: Source): Passage[] {
  return [...commentPassages(source), ...literalPassages(source)];
}

/**
 * The comments of a file. Line comments on consecutive lines are one passage, because a phrase may be broken between
 * two lines.
 */
function commentPassages(source: Source): Passage[] {
  const passages: { path: string; line: number; kind: Prose; text: string; end: number }[] = [];
  for (const { start, text } of source.comments) {
    const words = text
      .replaceAll(/^\s*(?:\/\*\*?|\*\/|\*|\/\/)|\*\/$/gm, "")
      .replaceAll(/`[^`]*`/g, "`code`")
      .replaceAll(/\s+/g, " ")
      .trim();
    const last = passages.at(-1);
    if (last !== undefined && text.startsWith("//") && /^\s*$/.test(source.text.slice(last.end, start))) {
      last.text += ` ${words}`;
      last.end = start + text.length;
    } else {
      const line = source.text.slice(0, start).split("\n").length;
      passages.push({ path: source.path, line, kind: "comment", text: words, end: start + text.length });
    }
  }
  return passages;
}

/** The test names of a file, and its messages: string literals of shipped code with at least three words. */
function literalPassages(source: Source): Passage[] {
  const passages: Passage[] = [];
  const names = new Set<Node>();
  const add = (node: Node, kind: Prose): void => {
    const raw = source.text.slice(node.getStart(source.ast) + 1, node.getEnd() - 1);
    const text = raw.replaceAll(/\$\{[^}]*\}/g, "X");
    const line = source.ast.getLineAndCharacterOfPosition(node.getStart(source.ast)).line + 1;
    if (kind === "test name" || /[a-z]+ [a-z]+ [a-z]+/i.test(text))
      passages.push({ path: source.path, line, kind, text });
  };
  const isShipped = source.path.startsWith("src/") && !source.path.endsWith(".test.ts");
  walk(source.ast, (node) => {
    if (isCallExpression(node) && /^(?:test|it|describe)$/.test(calledName(node.expression))) {
      const [name] = node.arguments;
      if (name !== undefined && isText(name)) {
        names.add(name);
        add(name, "test name");
      }
    }
    if (isShipped && isText(node) && !names.has(node)) add(node, "message");
  });
  return passages;
}

function isText(node: Node): boolean {
  return isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node) || isTemplateExpression(node);
}

/** The name of the called function: `test` for `test(…)`, `test.each(…)(…)` and `test.each`…`(…)`. */
function calledName(node: Node): string {
  if (isIdentifier(node)) return node.text;
  if (isPropertyAccessExpression(node) || isCallExpression(node)) return calledName(node.expression);
  return node.kind === SyntaxKind.TaggedTemplateExpression && "tag" in node ? calledName(node.tag as Node) : "";
}

/** The paragraphs of documents, without code blocks. The glossary is excluded, because it lists the rejected words. */
function documentPassages(files: readonly TextFile[]): Passage[] {
  return files
    .filter(({ path }) => /^(?:docs\/.*|examples\/.*|[^/]+)\.md$/.test(path) && path !== GLOSSARY_PATH)
    .flatMap(({ path, text }) => {
      const passages: { path: string; line: number; kind: Prose; text: string }[] = [];
      let isCode = false;
      let isOpen = false;
      for (const [index, line] of text.split("\n").entries()) {
        if (/^\s*```/.test(line)) isCode = !isCode;
        const words = line.replaceAll(/`[^`]*`/g, "`code`").replace(/^\s*(?:[-*|>]+|\d+\.)\s*/, "");
        const startsAnew = /^\s*(?:[-*|#>]|\d+\.)/.test(line) || !isOpen;
        isOpen = !isCode && line.trim() !== "" && !/^\s*```/.test(line);
        if (!isOpen) continue;
        const last = passages.at(-1);
        if (startsAnew || last === undefined) passages.push({ path, line: index + 1, kind: "document", text: words });
        else last.text += ` ${words.trim()}`;
      }
      return passages;
    });
}

/** The comments of scripts in .mjs files. */
function scriptPassages(files: readonly TextFile[]): Passage[] {
  return files
    .filter(({ path }) => path.endsWith(".mjs"))
    .flatMap(({ path, text }) =>
      text.split("\n").flatMap((line, index) => {
        const words = /^\s*(?:\/\/|\*|\/\*\*)\s*(\S.*)$/.exec(line)?.[1];
        return words === undefined ? [] : [{ path, line: index + 1, kind: "comment" as const, text: words }];
      }),
    );
}
