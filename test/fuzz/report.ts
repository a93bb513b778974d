/** Formats failures and numbers for the output of the fuzzer. */
import type { FuzzRequest } from "./cases.ts";
import type { Failure } from "./run-batch.ts";
import type { Exchange } from "./run-case.ts";

const BODY_CHARACTERS_MAX = 3_000;
const FINDINGS_SHOWN = 5;
const FINDING_CHARACTERS_MAX = 3_000;

/** A text that is equal for failures that probably have the same cause. */
export function signatureOf({ fuzzCase, report: { findings } }: Failure): string {
  const invariant = findings[0]?.invariant ?? "";
  const frame = findings.map(({ what }) => /\bat [^\n]*?(src\/[^\s)]+):\d+/.exec(what)?.[1]).find((found) => found);
  return `${invariant} (${frame ?? fuzzCase.target.key})`;
}

export function repeatCommand(seed: number, caseNumber: number): string {
  return `npm run fuzz -- --seed ${seed} --case ${caseNumber}`;
}

export function describeFailure({ seed, release, fuzzCase, report }: Failure): string {
  const findings = report.findings
    .slice(0, FINDINGS_SHOWN)
    .map(({ invariant, what }) => `  BROKEN: ${invariant}\n    ${indented(what.slice(0, FINDING_CHARACTERS_MAX))}`);
  const { apiVersion, kind } = fuzzCase.target;
  return [
    `seed ${seed}, case ${fuzzCase.number}: ${apiVersion} ${kind}, release ${release}`,
    ...findings,
    `  the attack: ${describeRequest(fuzzCase.request)}`,
    `  again: ${repeatCommand(seed, fuzzCase.number)}`,
  ].join("\n");
}

export function describeExchange({ request, answer }: Exchange): string {
  const { status, contentType, text, ms } = answer;
  return `${describeRequest(request)}\n  → ${status} ${contentType} in ${ms.toFixed(1)} ms\n    ${indented(text.slice(0, BODY_CHARACTERS_MAX))}`;
}

function describeRequest({ method, target, headers, body }: FuzzRequest): string {
  const head = `${method} ${target.slice(0, BODY_CHARACTERS_MAX)} ${JSON.stringify(headers)}`;
  if (body === undefined) return head;
  if (typeof body !== "string") return `${head}\n    base64 ${body.toString("base64").slice(0, BODY_CHARACTERS_MAX)}`;
  const more = body.length > BODY_CHARACTERS_MAX ? ` … ${body.length} characters` : "";
  return `${head}\n    ${JSON.stringify(body.slice(0, BODY_CHARACTERS_MAX))}${more}`;
}

function indented(text: string): string {
  return text.replaceAll("\n", "\n    ");
}

export function count(number: number): string {
  return Math.round(number).toLocaleString("en");
}
