/** Checks calls of format() whose text and arguments are literals. */
import { CLAUSE_ERRORS, clauseAt, FormatError } from "../library/string-format.ts";
import type { Call, Expression } from "../syntax/expression.ts";
import type { Issue } from "../syntax/issues.ts";
import type { TypeKind } from "../types/type.ts";
import type { Checked } from "./checker.ts";

const TAKES: Readonly<Record<string, readonly TypeKind[]>> = {
  s: ["list", "map", "int", "uint", "double", "bool", "string", "timestamp", "bytes", "duration", "type", "null"],
  d: ["int", "uint"],
  f: ["double", "string"],
  e: ["double", "string"],
  b: ["int", "uint", "bool"],
  x: ["int", "uint", "string", "bytes"],
  o: ["int", "uint"],
};

/** The argument, or the part of it, that the clause cannot format; undefined if there is none. */
function badPart(checked: Checked, clause: string, part: Expression): Expression | undefined {
  const kind = checked.types.get(part)?.kind ?? "dyn";
  if (kind !== "dyn" && TAKES[clause]?.includes(kind) !== true) return part;
  if (clause !== "s") return undefined;
  const inner =
    part.kind === "list"
      ? part.elements
      : part.kind === "map"
        ? part.entries.flatMap(({ key, value }) => [key, value])
        : [];
  for (const one of inner) {
    const bad = badPart(checked, clause, one);
    if (bad !== undefined) return bad;
  }
  return undefined;
}

function clauseIssue(checked: Checked, letter: string, part: Expression): Issue | undefined {
  const clause = letter === "X" ? "x" : letter;
  const bad = badPart(checked, clause, part);
  if (bad === undefined) return undefined;
  const given = checked.types.get(bad)?.name ?? "";
  return { position: bad.position, message: `error during formatting: ${CLAUSE_ERRORS[clause]}, was given ${given}` };
}

/** Undefined if the call is valid, or if its text or list of arguments is not a literal. */
export function formatIssue(checked: Checked, call: Call): Issue | undefined {
  const { target, args } = call;
  const [list] = args;
  if (call.name !== "format" || target?.kind !== "literal" || list?.kind !== "list") return undefined;
  if (typeof target.value !== "string") return undefined;
  const text = target.value;
  let used = 0;
  for (let at = text.indexOf("%"); at >= 0;) {
    if (text[at + 1] === "%") {
      at = text.indexOf("%", at + 2);
      continue;
    }
    try {
      const part = list.elements[used];
      if (part === undefined && at + 1 < text.length)
        return { position: call.position, message: `index ${used} out of range` };
      const { letter, end } = clauseAt(text, at);
      const issue = part === undefined ? undefined : clauseIssue(checked, letter, part);
      if (issue !== undefined) return issue;
      used++;
      at = text.indexOf("%", end);
    } catch (error) {
      if (error instanceof FormatError) return { position: call.position, message: error.message };
      throw error;
    }
  }
  if (list.elements.length <= used) return undefined;
  const counts = `(expected ${used}, got ${list.elements.length})`;
  return { position: call.position, message: `too many arguments supplied to string.format ${counts}` };
}
