import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  chooseEncoding,
  commonVersion,
  pendingServers,
  settle,
  writability,
  type StoredVersions,
} from "./agreement.ts";
import type { AgreementMember } from "./members.ts";
import {
  ALL_ENCODING_VERSIONS_EQUAL,
  type ServerStorageVersion,
  type StorageVersionCondition,
  type StorageVersionStatus,
} from "./objects.ts";
import {
  CONDITION_FALSE,
  conditionUnknown,
  CONDITION_TRUE,
  entry,
  FOREIGN_CONDITION,
  liveServers,
  LONG_AGO,
  statusOf,
} from "../../../test/testing/cluster/storageversion/entries.ts";

const NOW = "2030-01-01T00:00:00Z";
const E1 = entry("1", "v1", "v1 v2", "v1");
const E2 = entry("2", "v1", "v1 v2", "v1 v2");
const E3 = entry("3", "v2", "v1 v2", "v1 v2");
const E4 = entry("4", "v1", "v1 v2 v4", "v1 v2");
const E5 = entry("5", "v2", "v1 v2 v4", "v1 v2");
const REORDERED_E2 = Object.fromEntries(Object.entries(E2).toReversed()) as unknown as ServerStorageVersion;
const ALL = liveServers("1", "2", "3", "4", "5");

const at = (condition: StorageVersionCondition, lastTransitionTime: string): StorageVersionCondition => ({
  ...condition,
  lastTransitionTime,
});

interface Row {
  readonly before: StorageVersionStatus;
  readonly own?: ServerStorageVersion;
  readonly entries: readonly ServerStorageVersion[];
  readonly common: string | undefined;
  readonly condition: StorageVersionCondition;
}

describe("when a server inserts its entry:", () => {
  test.each<[string, Row]>([
    [
      "the first entry agrees with itself",
      { before: {}, own: E1, entries: [E1], common: "v1", condition: at(CONDITION_TRUE, NOW) },
    ],
    [
      "an entry with another encoding ends the agreement",
      {
        before: statusOf([E1, E2], "v1", CONDITION_TRUE),
        own: E3,
        entries: [E1, E2, E3],
        common: undefined,
        condition: at(CONDITION_FALSE, NOW),
      },
    ],
    [
      "an entry with the common encoding keeps the agreement",
      {
        before: statusOf([E1, E2], "v1", CONDITION_TRUE),
        own: E4,
        entries: [E1, E2, E4],
        common: "v1",
        condition: CONDITION_TRUE,
      },
    ],
    [
      "one more entry changes nothing without an agreement",
      {
        before: statusOf([E1, E2, E3], undefined, CONDITION_FALSE),
        own: E4,
        entries: [E1, E2, E3, E4],
        common: undefined,
        condition: CONDITION_FALSE,
      },
    ],
    [
      "a new entry replaces the old one in its position",
      {
        before: statusOf([E1, E2, E4], "v1", CONDITION_TRUE),
        own: { ...E3, apiServerID: "2" },
        entries: [E1, { ...E3, apiServerID: "2" }, E4],
        common: undefined,
        condition: at(CONDITION_FALSE, NOW),
      },
    ],
    [
      "a new entry can create the agreement",
      {
        before: statusOf([E3, E5, E1], undefined, CONDITION_FALSE),
        own: entry("1", "v2", "v1 v2"),
        entries: [entry("1", "v2", "v1 v2"), E3, E5],
        common: "v2",
        condition: at(CONDITION_TRUE, NOW),
      },
    ],
  ])("%s", (_rule, { before, own, entries, common, condition }) => {
    expect(settle(before, { live: ALL, now: NOW, own: own! })).toEqual(statusOf(entries, common, condition));
  });
});

const COMMON_VERSIONS: [string, Row][] = [
  [
    "is unset from the beginning if servers differ",
    {
      before: statusOf([E1, E2, E3], undefined),
      entries: [E1, E2, E3],
      common: undefined,
      condition: at(CONDITION_FALSE, NOW),
    },
  ],
  [
    "is removed when servers differ",
    {
      before: statusOf([E1, E2, E3], "v1", CONDITION_TRUE),
      entries: [E1, E2, E3],
      common: undefined,
      condition: at(CONDITION_FALSE, NOW),
    },
  ],
  [
    "stays unset without a transition",
    {
      before: statusOf([E1, E2, E3], undefined, CONDITION_FALSE),
      entries: [E1, E2, E3],
      common: undefined,
      condition: CONDITION_FALSE,
    },
  ],
  [
    "is set from the beginning if servers agree",
    { before: statusOf([E1, E2], undefined), entries: [E1, E2], common: "v1", condition: at(CONDITION_TRUE, NOW) },
  ],
  [
    "stays set without a transition",
    {
      before: statusOf([E1, E2], "v1", CONDITION_TRUE),
      entries: [E1, E2],
      common: "v1",
      condition: CONDITION_TRUE,
    },
  ],
  [
    "is set when servers come to agree",
    {
      before: statusOf([E1, E2], undefined, CONDITION_FALSE),
      entries: [E1, E2],
      common: "v1",
      condition: at(CONDITION_TRUE, NOW),
    },
  ],
  [
    "has a transition when it changes",
    {
      before: statusOf([E3, E5], "v1", CONDITION_TRUE),
      entries: [E3, E5],
      common: "v2",
      condition: at(CONDITION_TRUE, NOW),
    },
  ],
  ["is unset without entries", { before: {}, entries: [], common: undefined, condition: at(CONDITION_FALSE, NOW) }],
  [
    "is removed with the last entry",
    {
      before: statusOf([entry("gone", "v1")], "v1", CONDITION_TRUE),
      entries: [],
      common: undefined,
      condition: at(CONDITION_FALSE, NOW),
    },
  ],
  [
    "is that of the live servers",
    {
      before: statusOf([entry("gone", "v1"), E3, E5], undefined, CONDITION_FALSE),
      entries: [E3, E5],
      common: "v2",
      condition: at(CONDITION_TRUE, NOW),
    },
  ],
  [
    "stays while its condition has no time, which is added",
    {
      before: statusOf([E1, E2], "v1", { ...CONDITION_TRUE, lastTransitionTime: null }),
      entries: [E1, E2],
      common: "v1",
      condition: at(CONDITION_TRUE, NOW),
    },
  ],
];

describe("the common version", () => {
  test.each(COMMON_VERSIONS)("%s", (_rule, { before, entries, common, condition }) => {
    expect(settle(before, { live: ALL, now: NOW })).toEqual(statusOf(entries, common, condition));
  });

  test.each<[string, ServerStorageVersion[], string | undefined]>([
    ["an empty list has none", [], undefined],
    ["a single entry has one", [E3], "v2"],
    ["equal entries have one", [E1, E2, E4], "v1"],
    ["entries of which one differs have none", [E1, E2, E3], undefined],
  ])("of a list of entries: %s", (_rule, entries, expected) => {
    expect(commonVersion(entries)).toBe(expected);
  });
});

describe("when the status is computed:", () => {
  test("conditions of other types stay in their position", () => {
    const before = statusOf([E1, E2, E3], "v1", FOREIGN_CONDITION, CONDITION_TRUE, {
      ...FOREIGN_CONDITION,
      type: "example.com/Counted",
    });
    expect(settle(before, { live: ALL, now: NOW }).conditions).toEqual([
      FOREIGN_CONDITION,
      at(CONDITION_FALSE, NOW),
      { ...FOREIGN_CONDITION, type: "example.com/Counted" },
    ]);
  });

  test("the first condition comes after those of other types", () => {
    const before = statusOf([E1], undefined, FOREIGN_CONDITION);
    expect(settle(before, { live: ALL, now: NOW }).conditions).toEqual([FOREIGN_CONDITION, at(CONDITION_TRUE, NOW)]);
  });

  test.each<[string, StorageVersionStatus, ServerStorageVersion | undefined]>([
    ["an agreement", statusOf([E1, E2], "v1", CONDITION_TRUE), undefined],
    ["a disagreement", statusOf([E1, E3], undefined, CONDITION_FALSE), undefined],
    ["an existing entry", statusOf([E1, E2], "v1", CONDITION_TRUE), { ...E2 }],
    ["an existing entry with its fields in another order", statusOf([E1, E2], "v1", CONDITION_TRUE), REORDERED_E2],
    ["an object without entries", statusOf([], undefined, CONDITION_FALSE), undefined],
  ])("%s that needs no change is returned as the same object, so that it is not written", (_what, status, own) => {
    expect(settle(status, { live: ALL, now: NOW, ...(own === undefined ? {} : { own }) })).toBe(status);
  });

  test("entries are sorted by server ID", () => {
    const before = statusOf([E5, entry("gone", "v1"), E1, entry("lost", "v1"), E3], undefined, CONDITION_FALSE);
    expect(settle(before, { live: ALL, now: NOW, own: E2 }).storageVersions).toEqual([E1, E2, E3, E5]);
  });

  test("neither the given status nor its entries are modified", () => {
    const before = statusOf([E5, E1, entry("gone", "v1")], "v1", CONDITION_TRUE);
    const copy = structuredClone(before);
    settle(before, { live: ALL, now: NOW, own: E2 });
    expect(before).toEqual(copy);
  });

  test("a server that is not live cannot insert an entry", () => {
    const before = statusOf([E1], "v1", CONDITION_TRUE);
    expect(settle(before, { live: ALL, now: NOW, own: entry("gone", "v2") })).toBe(before);
  });
});

describe("pending servers:", () => {
  test("a live server that has neither an entry nor published everything makes the condition Unknown, without a common version", () => {
    const before = statusOf([E1, E2], "v1", CONDITION_TRUE);
    const live = liveServers("1", "2", "-new", "-another");
    expect(settle(before, { live, now: NOW })).toEqual(
      statusOf([E1, E2], undefined, at(conditionUnknown("another", "new"), NOW)),
    );
  });

  test("the condition is Unknown too if the entries disagree", () => {
    const before = statusOf([E1, E3], undefined, CONDITION_FALSE);
    const after = settle(before, { live: liveServers("1", "3", "-new"), now: NOW });
    expect(after).toEqual(statusOf([E1, E3], undefined, at(conditionUnknown("new"), NOW)));
  });

  test("a live server without an entry that has published everything counts as one that does not store the resource", () => {
    const before = statusOf([E1, E2], "v1", CONDITION_TRUE);
    expect(settle(before, { live: liveServers("1", "2", "other"), now: NOW })).toBe(before);
  });

  test("a server that has an entry is not pending, even if it has other entries to publish", () => {
    const before = statusOf([E1, E2], "v1", CONDITION_TRUE);
    expect(settle(before, { live: liveServers("1", "-2"), now: NOW })).toBe(before);
  });

  test("the server that inserts its entry is not pending", () => {
    const before = statusOf([E1], undefined, conditionUnknown("2"));
    const after = settle(before, { live: liveServers("1", "-2"), now: NOW, own: E2 });
    expect(after).toEqual(statusOf([E1, E2], "v1", at(CONDITION_TRUE, NOW)));
  });

  test("if another server becomes the pending one, the transition time stays", () => {
    const before = statusOf([E1], undefined, conditionUnknown("a"));
    expect(settle(before, { live: liveServers("1", "-b"), now: NOW })).toEqual(
      statusOf([E1], undefined, conditionUnknown("b")),
    );
  });

  test("when no server is pending any more, the entries decide, and the transition time changes", () => {
    const before = statusOf([E1, E2], undefined, conditionUnknown("gone"));
    expect(settle(before, { live: ALL, now: NOW })).toEqual(statusOf([E1, E2], "v1", at(CONDITION_TRUE, NOW)));
    const differing = statusOf([E1, E3], undefined, conditionUnknown("gone"));
    expect(settle(differing, { live: ALL, now: NOW })).toEqual(statusOf([E1, E3], undefined, at(CONDITION_FALSE, NOW)));
  });

  test.each<[string, ServerStorageVersion[], string[], string[]]>([
    ["none if all have published", [E1], ["1", "2"], []],
    ["none if all have an entry", [E1, E2], ["-1", "-2"], []],
    ["those with neither, sorted", [E1], ["-c", "1", "-a", "b"], ["a", "c"]],
    ["not departed servers with an entry", [entry("gone", "v1")], ["-1"], ["1"]],
  ])("pendingServers returns %s", (_who, entries, live, expected) => {
    expect(pendingServers(entries, liveServers(...live))).toEqual(expected);
  });

  test("a server is pending only if its component has an entry, or if there are no entries", () => {
    const wardle = { id: "w", component: "wardle-apiserver", isPublished: false };
    const live = new Map([...liveServers("1", "-2"), ["w", wardle]]);
    expect(pendingServers([E1], live)).toEqual(["2"]);
    expect(pendingServers([entry("w", "v1", "v1")], live)).toEqual([]);
    expect(pendingServers([], live)).toEqual(["2", "w"]);
  });
});

describe("the chosen encoding", () => {
  const own: StoredVersions = { preferred: "v3", decodable: ["v4", "v3", "v2", "v1"] };

  test.each<[string, ServerStorageVersion[], string | undefined]>([
    ["the release's own for a lone server", [], "v3"],
    ["the release's own if all others read it", [entry("a", "v2", "v2 v3")], "v3"],
    ["the release's own although a more preferred one could be read", [entry("a", "v4", "v4 v3")], "v3"],
    ["otherwise the most preferred one that all others read", [entry("a", "v1", "v1 v2")], "v2"],
    ["the first in the server's own order of preference, not in that of others", [entry("a", "v1", "v1 v4 v2")], "v4"],
    ["not one that another server cannot read", [entry("a", "v1", "v1 v2"), entry("b", "v1", "v1")], "v1"],
    ["none if another server reads none of ours", [entry("a", "v3"), entry("b", "v9")], undefined],
    ["none if two servers have nothing in common", [entry("a", "v1"), entry("b", "v2")], undefined],
  ])("is %s", (_rule, others, expected) => {
    expect(chooseEncoding(own, others)).toBe(expected);
  });
});

describe("a server", () => {
  test.each<[string, StorageVersionStatus, string]>([
    ["there are no entries", {}, "this server has no entry in the StorageVersion object"],
    ["only other servers have an entry", statusOf([E2], "v1"), "this server has no entry in the StorageVersion object"],
    [
      "another server cannot read what it writes",
      statusOf([entry("1", "v2", "v1 v2"), E2, entry("3", "v1"), entry("4", "v1")], undefined),
      "this server writes v2, which 3, 4 cannot read",
    ],
  ])("may not write if %s", (_why, status, because) => {
    expect(writability(status, "1")).toEqual({ kind: "closed", because });
  });

  test.each<[string, StorageVersionStatus, string]>([
    ["it is alone", statusOf([E1], "v1", CONDITION_TRUE), "v1"],
    ["all write the same", statusOf([E1, E2], "v1", CONDITION_TRUE), "v1"],
    ["others write another encoding and read this one", statusOf([E1, E3], undefined, CONDITION_FALSE), "v1"],
    ["another server is pending", statusOf([E1], undefined, conditionUnknown("new")), "v1"],
    [
      "it cannot read what another server writes, because then that server may not write",
      statusOf([entry("1", "v1"), entry("2", "v2", "v1 v2")], undefined),
      "v1",
    ],
  ])("may write if %s", (_why, status, version) => {
    expect(writability(status, "1")).toEqual({ kind: "open", version });
  });
});

const VERSIONS = ["v1", "v2", "v3", "v4"];
const IDS = ["a", "b", "c", "d", "e"];

const storedVersions: fc.Arbitrary<StoredVersions> = fc
  .shuffledSubarray(VERSIONS, { minLength: 1 })
  .chain((decodable) => fc.constantFrom(...decodable).map((preferred) => ({ preferred, decodable })));

const entries: fc.Arbitrary<ServerStorageVersion[]> = fc
  .shuffledSubarray(IDS)
  .chain((ids) => fc.tuple(...ids.map((id) => storedVersions.map((stored) => toEntry(id, stored)))));

const live: fc.Arbitrary<ReadonlyMap<string, AgreementMember>> = fc
  .uniqueArray(fc.record({ id: fc.constantFrom(...IDS), isPublished: fc.boolean() }), { selector: ({ id }) => id })
  .map((members) => new Map(members.map((member) => [member.id, member])));

const conditions: fc.Arbitrary<StorageVersionCondition[]> = fc
  .shuffledSubarray([FOREIGN_CONDITION, CONDITION_TRUE, CONDITION_FALSE, conditionUnknown("a", "b")])
  .map((picked) => picked.filter(({ type }, index) => picked.findIndex((other) => other.type === type) === index));

const statuses: fc.Arbitrary<StorageVersionStatus> = fc
  .tuple(entries, fc.option(fc.constantFrom(...VERSIONS), { nil: undefined }), conditions)
  .map(([present, common, stated]) => statusOf(present, common, ...stated));

function toEntry(id: string, { preferred, decodable }: StoredVersions): ServerStorageVersion {
  return { apiServerID: id, encodingVersion: preferred, decodableVersions: decodable };
}

describe("for random objects", () => {
  test("every entry belongs to a live server afterwards, and no entry of a live server is dropped", () => {
    fc.assert(
      fc.property(statuses, live, (status, members) => {
        const after = settle(status, { live: members, now: NOW }).storageVersions ?? [];
        const kept = (status.storageVersions ?? []).filter(({ apiServerID }) => members.has(apiServerID));
        const byId = (left: ServerStorageVersion, right: ServerStorageVersion): number =>
          left.apiServerID < right.apiServerID ? -1 : 1;
        expect(after).toEqual(kept.toSorted(byId));
      }),
    );
  });

  test("the common version is set and its condition True if and only if entries exist, all agree and no server is pending", () => {
    fc.assert(
      fc.property(statuses, live, (status, members) => {
        const after = settle(status, { live: members, now: NOW });
        const versions = new Set(after.storageVersions?.map(({ encodingVersion }) => encodingVersion));
        const isAwaited = [...members.values()].some(
          ({ id, isPublished }) =>
            !isPublished && !(after.storageVersions ?? []).some(({ apiServerID }) => apiServerID === id),
        );
        const expected = versions.size === 1 && !isAwaited ? [...versions][0] : undefined;
        expect(after.commonEncodingVersion).toBe(expected);
        const said = after.conditions?.filter(({ type }) => type === ALL_ENCODING_VERSIONS_EQUAL);
        const truth = isAwaited ? "Unknown" : expected === undefined ? "False" : "True";
        expect(said?.map((condition) => condition.status)).toEqual([truth]);
      }),
    );
  });

  test("computing the status a second time changes nothing, whatever the time", () => {
    fc.assert(
      fc.property(statuses, live, (status, members) => {
        const after = settle(status, { live: members, now: NOW });
        expect(settle(after, { live: members, now: "2031-01-01T00:00:00Z" })).toBe(after);
      }),
    );
  });

  test("the transition time changes if and only if the status or the common version changes", () => {
    fc.assert(
      fc.property(statuses, live, (status, members) => {
        const before = settle(status, { live: liveServers(...IDS), now: LONG_AGO });
        const after = settle(before, { live: members, now: NOW });
        const [was, is] = [before, after].map(({ conditions: stated }) =>
          stated?.find(({ type }) => type === ALL_ENCODING_VERSIONS_EQUAL),
        );
        const hasMoved = before.commonEncodingVersion !== after.commonEncodingVersion;
        expect(is?.lastTransitionTime).toBe(was?.status !== is?.status || hasMoved ? NOW : LONG_AGO);
      }),
    );
  });

  test("data of other clients is neither lost nor changed", () => {
    fc.assert(
      fc.property(statuses, live, (status, members) => {
        const foreign = ({ conditions: stated = [] }: StorageVersionStatus): StorageVersionCondition[] =>
          stated.filter(({ type }) => type !== ALL_ENCODING_VERSIONS_EQUAL);
        expect(foreign(settle(status, { live: members, now: NOW }))).toEqual(foreign(status));
      }),
    );
  });
});

describe("for random servers", () => {
  test("every server can read the chosen encoding; if none is chosen, no encoding exists that all can read", () => {
    fc.assert(
      fc.property(storedVersions, entries, (own, others) => {
        const chosen = chooseEncoding(own, others);
        const readable = own.decodable.filter((version) =>
          others.every(({ decodableVersions }) => decodableVersions.includes(version)),
        );
        if (chosen === undefined) expect(readable).toEqual([]);
        else expect(readable).toContain(chosen);
        if (readable.includes(own.preferred)) expect(chosen).toBe(own.preferred);
      }),
    );
  });

  test("servers that publish one after another and choose again may all write in the end if and only if an encoding exists that all can read", () => {
    const servers = fc.array(storedVersions, { minLength: 2, maxLength: 4 });
    const turns = fc.array(fc.nat({ max: 3 }), { maxLength: 20 });
    fc.assert(
      fc.property(servers, turns, (stored, order) => {
        const ids = stored.map((_own, index) => IDS[index]!);
        const members = liveServers(...ids);
        const publish = (status: StorageVersionStatus, index: number): StorageVersionStatus => {
          const others = (status.storageVersions ?? []).filter(({ apiServerID }) => apiServerID !== ids[index]);
          const own = stored[index]!;
          const preferred = chooseEncoding(own, others) ?? own.preferred;
          return settle(status, { live: members, now: NOW, own: toEntry(ids[index]!, { ...own, preferred }) });
        };
        let status = order.map((turn) => turn % ids.length).reduce(publish, {});
        for (let before: StorageVersionStatus = {}; before !== status;) {
          before = status;
          status = ids.reduce((current, _id, index) => publish(current, index), status);
        }
        const shared = VERSIONS.filter((version) => stored.every(({ decodable }) => decodable.includes(version)));
        const kinds = ids.map((id) => writability(status, id).kind);
        if (shared.length > 0) expect(new Set(kinds)).toEqual(new Set(["open"]));
        else expect(kinds).toContain("closed");
      }),
    );
  });

  test("a server that may write never produces data that another server cannot read, in any order of publishing", () => {
    fc.assert(
      fc.property(entries, (present) => {
        for (const { apiServerID: writer } of present) {
          const verdict = writability({ storageVersions: present }, writer);
          if (verdict.kind === "closed") continue;
          for (const reader of present) expect(reader.decodableVersions).toContain(verdict.version);
        }
      }),
    );
  });
});
