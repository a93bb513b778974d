/**
 * The order of merged documents: it depends on names alone, never on the order in which servers joined or responded.
 */

const KUBE_VERSION = /^v(\d{1,9})(?:(alpha|beta)(\d{1,9}))?$/;

/** Compare function for API versions: v2, v1, v2beta1, v1beta1, v1alpha1; then texts that are not versions, by name. */
export function compareApiVersions(left: string, right: string): number {
  if (left === right) return 0;
  const [leftParts, rightParts] = [KUBE_VERSION.exec(left), KUBE_VERSION.exec(right)];
  if (leftParts === null || rightParts === null) {
    if (leftParts === rightParts) return compareNames(left, right);
    return leftParts === null ? 1 : -1;
  }
  return (
    stability(rightParts[2]) - stability(leftParts[2]) ||
    Number(rightParts[1]) - Number(leftParts[1]) ||
    Number(rightParts[3] ?? 0) - Number(leftParts[3] ?? 0) ||
    compareNames(left, right)
  );
}

export function compareNames(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** True if the items are in ascending order and no two are equal. */
export function isAscending<Item>(items: readonly Item[], compare: (left: Item, right: Item) => number): boolean {
  for (let index = 1; index < items.length; index++)
    if (compare(items[index - 1] as Item, items[index] as Item) >= 0) return false;
  return true;
}

function stability(stage: string | undefined): number {
  if (stage === undefined) return 2;
  return stage === "beta" ? 1 : 0;
}
