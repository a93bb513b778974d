/** The kinds of wrong responses and of damage that a rehearsal finds, with the definitions that the page shows. */

interface KindInWords {
  /** The definition, which follows the name of the kind and a colon. */
  readonly meaning: string;
  /** Set for damage to the stored data; a wrong response leaves the data as they are. One and several. */
  readonly damage?: readonly [one: string, many: string];
}

const KINDS = {
  "resource-called-unknown": {
    meaning:
      "404 for a resource that a live server serves (false 404). Evenkeel also promises 503 instead of 404 for a while " +
      "after the last server that served it has departed",
  },
  "object-called-absent": {
    meaning: "404 for an object whose creation was acknowledged and that no client has deleted (false 404)",
  },
  "missing-from-list": { meaning: "an object that exists is not in a list that should contain it" },
  "missing-from-informer": { meaning: "an informer that has synced does not have an object that exists" },
  "told-deleted": { meaning: "an informer received a DELETED event for an object that no client has deleted" },
  "missing-from-discovery": {
    meaning: "discovery lacks a resource that a healthy server has served for five seconds (wrong discovery)",
  },
  "unreadable-encoding": {
    meaning: "500, because the release of the server cannot decode an object that another release has stored",
  },
  "write-lost": {
    meaning: "the store does not contain an object or a change that was acknowledged",
    damage: ["lost write", "lost writes"],
  },
  "field-dropped": {
    meaning: "a server removed a stored field that its release does not know when it updated the object",
    damage: ["update that dropped a field", "updates that dropped a field"],
  },
  "collected-although-owned": {
    meaning: "an object was deleted while its owner exists",
    damage: ["object deleted although its owner exists", "objects deleted although their owner exists"],
  },
  "namespace-gone-with-content": {
    meaning: "a namespace was deleted, but the store still holds objects of this namespace",
    damage: ["namespace deleted with objects in it", "namespaces deleted with objects in them"],
  },
  "left-behind": {
    meaning: "at the end, an object is still stored although the object itself, its owner or its namespace was deleted",
    damage: ["object left behind", "objects left behind"],
  },
} as const satisfies Record<string, KindInWords>;

export type WrongKind = keyof typeof KINDS;

export const WRONG_KINDS: Readonly<Record<WrongKind, KindInWords>> = KINDS;

type Counts = Readonly<Partial<Record<WrongKind, number>>>;

/** The counts in words, for example "353 wrong responses, 1 lost write". */
export function tallyText(counts: Counts): string {
  const kinds = Object.keys(WRONG_KINDS) as WrongKind[];
  const responses = kinds
    .filter((kind) => WRONG_KINDS[kind].damage === undefined)
    .reduce((sum, kind) => sum + (counts[kind] ?? 0), 0);
  const damage = kinds.flatMap((kind) => {
    const count = counts[kind] ?? 0;
    const words = WRONG_KINDS[kind].damage;
    return count === 0 || words === undefined ? [] : [`${count} ${words[count === 1 ? 0 : 1]}`];
  });
  const wrong = `${responses} wrong ${responses === 1 ? "response" : "responses"}`;
  return (responses === 0 && damage.length > 0 ? damage : [wrong, ...damage]).join(", ");
}
