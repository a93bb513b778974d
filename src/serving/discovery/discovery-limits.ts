/**
 * Limits on the discovery document of another server; a larger document is rejected as a whole. A release has about 20
 * groups and 70 resources; large clusters add some thousand custom resources.
 */
export const GROUPS_MAX = 10_000;
export const VERSIONS_PER_GROUP_MAX = 100;
export const RESOURCES_PER_VERSION_MAX = 5_000;
/** Custom metrics servers list each metric as a subresource. */
export const SUBRESOURCES_PER_RESOURCE_MAX = 5_000;
/** Maximum number of verbs, of short names or of categories of one resource. */
export const WORDS_MAX = 64;
/** Maximum number of resources and subresources in the whole document. */
export const RESOURCES_MAX = 50_000;
/** Maximum length of every text. It is the maximum length of a group name; no other name may be longer. */
export const TEXT_LENGTH_MAX = 253;

/** Maximum number of Accept headers whose parsed form is cached, and the maximum length of such a header. */
export const ACCEPT_MEMO_MAX = 64;
export const ACCEPT_MEMO_LENGTH_MAX = 1_024;
