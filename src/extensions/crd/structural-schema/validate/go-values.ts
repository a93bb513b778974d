/** Formats values as the errors of custom resources show them. */
import { goNumber } from "../../../../meta/go-fmt.ts";
import { sortedGoJson } from "../../../../meta/go-json.ts";
import { goQuote } from "../../../../meta/go-quote.ts";

/** Writes strings in quotes, numbers plain, and everything else as JSON. */
export function shownValue(value: unknown): string {
  if (typeof value === "string") return goQuote(value);
  return typeof value === "number" ? goNumber(value) : sortedGoJson(value);
}
