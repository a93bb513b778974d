/** Compares discovery resources field by field, because a generic comparison takes several times as long. */
import type { DiscoveryKind, DiscoveryResource, DiscoverySubresource } from "./groups.ts";

export function areSameResources(left: readonly DiscoveryResource[], right: readonly DiscoveryResource[]): boolean {
  return areSame(left, right, isSameResource);
}

function areSame<Item>(
  left: readonly Item[],
  right: readonly Item[],
  isSame: (left: Item, right: Item) => boolean,
): boolean {
  if (left === right) return true;
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index++)
    if (!isSame(left[index] as Item, right[index] as Item)) return false;
  return true;
}

export function areSameWords(left: readonly string[], right: readonly string[]): boolean {
  if (left === right) return true;
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index++) if (left[index] !== right[index]) return false;
  return true;
}

function isSameResource(left: DiscoveryResource, right: DiscoveryResource): boolean {
  if (left === right) return true;
  return (
    left.resource === right.resource &&
    left.scope === right.scope &&
    left.singularResource === right.singularResource &&
    left.storageVersionHash === right.storageVersionHash &&
    isSameKind(left.responseKind, right.responseKind) &&
    areSameWords(left.verbs, right.verbs) &&
    areSameWords(left.shortNames, right.shortNames) &&
    areSameWords(left.categories, right.categories) &&
    areSame(left.subresources, right.subresources, isSameSubresource)
  );
}

function isSameSubresource(left: DiscoverySubresource, right: DiscoverySubresource): boolean {
  return (
    left.subresource === right.subresource &&
    isSameKind(left.responseKind, right.responseKind) &&
    areSameWords(left.verbs, right.verbs)
  );
}

function isSameKind(left: DiscoveryKind, right: DiscoveryKind): boolean {
  return left.kind === right.kind && left.group === right.group && left.version === right.version;
}
