/** The type of a rule for one volume source. */
import type { JsonObject } from "../../../../meta/json.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import type { SpecContext } from "./spec-context.ts";

export interface SourceRule {
  /** The field of the volume that holds the source. */
  readonly member: string;
  /**
   * The field name that kubernetes shows instead of `member`, in the error about a second source and in errors inside
   * the source.
   */
  readonly shownAs?: string;
  readonly shownInside?: string;
  readonly errors: (source: JsonObject, field: string, context: SpecContext) => Iterable<FieldError>;
}
