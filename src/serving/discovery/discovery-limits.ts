/**
 * Limits for the document of another server. A release has about 25 groups and 70 resources; large clusters add some
 * thousand custom resources. A larger document is rejected as a whole.
 */
export const GROUPS_MAX = 10_000;
export const VERSIONS_PER_GROUP_MAX = 100;
export const RESOURCES_PER_VERSION_MAX = 5_000;
/** Custom metrics servers list each metric as a subresource. */
export const SUBRESOURCES_PER_RESOURCE_MAX = 5_000;
/** Verbs, short names or categories of one resource. */
export const WORDS_MAX = 64;
/** Resources and subresources of the whole document. */
export const RESOURCES_MAX = 50_000;
/** The maximum length of a group name; no other name may be longer. */
export const TEXT_LENGTH_MAX = 253;

/** Number and maximum length of the Accept headers whose parsed form is cached. */
export const ACCEPT_MEMO_MAX = 64;
export const ACCEPT_MEMO_LENGTH_MAX = 1_024;
