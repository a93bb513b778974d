/**
 * What a document from another server may hold. A release has about 25 groups and 70 resources; large clusters add some
 * thousand custom resources. A document past these is refused as a whole.
 */
export const GROUPS_MAX = 10_000;
export const VERSIONS_PER_GROUP_MAX = 100;
export const RESOURCES_PER_VERSION_MAX = 5_000;
/** Servers of custom metrics show each metric as a subresource. */
export const SUBRESOURCES_PER_RESOURCE_MAX = 5_000;
/** Verbs, short names or categories of one resource. */
export const WORDS_MAX = 64;
/** Resources and subresources of the whole document. */
export const RESOURCES_MAX = 50_000;
/** As long as the name of a group may be, and no other name is longer. */
export const TEXT_LENGTH_MAX = 253;

/** Different Accept headers whose meaning is remembered, and how long they may be. */
export const ACCEPT_MEMO_MAX = 64;
export const ACCEPT_MEMO_LENGTH_MAX = 1_024;
