/** Cost limits of rules. */

/** For a single evaluation. */
export const CALL_COST_MAX = 1_000_000;
/** For all evaluations of one object. */
export const OBJECT_COST_MAX = 10_000_000;
/** For the estimate of one rule when it is written. */
export const RULE_COST_MAX = 10_000_000;
/** For the estimate of all rules of a schema. */
export const SCHEMA_COST_MAX = 100_000_000;
export const MESSAGE_BYTES_MAX = 5 * 1024;
