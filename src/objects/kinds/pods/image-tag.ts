/**
 * Decides the default pull policy: Always for images with the tag latest, or without a tag and digest, because they may
 * change under the same name.
 */

const DOMAIN_PART = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
const DOMAIN = `(?:${DOMAIN_PART}(?:\\.${DOMAIN_PART})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const PATH_PART = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
const DIGEST = "[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}";
const REFERENCE = new RegExp(
  `^(?<name>(?:${DOMAIN}/)?${PATH_PART}(?:/${PATH_PART})*)(?::(?<tag>\\w[\\w.-]{0,127}))?(?:@(?<digest>${DIGEST}))?$`,
);
const IDENTIFIER = /^[a-f0-9]{64}$/;
const NAME_LENGTH_MAX = 255;
const REFERENCE_LENGTH_MAX = 1024;

type PullPolicy = "Always" | "IfNotPresent";

/** A malformed reference has no tag and gets IfNotPresent. */
export function defaultPullPolicy(image: string): PullPolicy {
  if (image.length > REFERENCE_LENGTH_MAX || IDENTIFIER.test(image)) return "IfNotPresent";
  const { name, tag, digest } = REFERENCE.exec(image)?.groups ?? {};
  if (name === undefined || name.length > NAME_LENGTH_MAX) return "IfNotPresent";
  return tag === "latest" || (tag === undefined && digest === undefined) ? "Always" : "IfNotPresent";
}
