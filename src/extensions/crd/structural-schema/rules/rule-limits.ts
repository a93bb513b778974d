/** What rules may cost. */

/** A single evaluation. */
export const CALL_COST_MAX = 1_000_000;
/** All evaluations for one object. */
export const OBJECT_COST_MAX = 10_000_000;
/** As estimated for one rule when it is written. */
export const RULE_COST_MAX = 10_000_000;
/** As estimated for all rules of a schema. */
export const SCHEMA_COST_MAX = 100_000_000;
export const MESSAGE_BYTES_MAX = 5 * 1024;
