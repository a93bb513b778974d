/** One of the many places that a volume's data can come from. */
import type { JsonObject } from "../../../../meta/json.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import type { SpecContext } from "./spec-context.ts";

export interface SourceRule {
  /** Of the volume. */
  readonly member: string;
  /** Where kubernetes says another name: of a source too many, and of what is wrong inside. */
  readonly shownAs?: string;
  readonly shownInside?: string;
  readonly errors: (source: JsonObject, field: string, context: SpecContext) => Iterable<FieldError>;
}
