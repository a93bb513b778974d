/** Cost limits of CEL rules, as in kubernetes. */

/** Maximum cost of a single evaluation. */
export const CALL_COST_MAX = 1_000_000;
/** Maximum cost of all evaluations for one object. */
export const OBJECT_COST_MAX = 10_000_000;
/** Maximum estimated cost of one rule when its CRD is written. */
export const RULE_COST_MAX = 10_000_000;
/** Maximum estimated cost of all rules of a schema when its CRD is written. */
export const SCHEMA_COST_MAX = 100_000_000;
export const MESSAGE_BYTES_MAX = 5 * 1024;
