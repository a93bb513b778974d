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

describe("a server inserts its entry", () => {
  test.each<[string, Row]>([
    [
      "the first one agrees with itself",
      { before: {}, own: E1, entries: [E1], common: "v1", condition: at(CONDITION_TRUE, NOW) },
    ],
    [
      "one that encodes otherwise ends the agreement",
      {
        before: statusOf([E1, E2], "v1", CONDITION_TRUE),
        own: E3,
        entries: [E1, E2, E3],
        common: undefined,
        condition: at(CONDITION_FALSE, NOW),
      },
    ],
    [
      "one that encodes as the others do changes nothing of the agreement",
      {
        before: statusOf([E1, E2], "v1", CONDITION_TRUE),
        own: E4,
        entries: [E1, E2, E4],
        common: "v1",
        condition: CONDITION_TRUE,
      },
    ],
    [
      "one more changes nothing where there is no agreement",
      {
        before: statusOf([E1, E2, E3], undefined, CONDITION_FALSE),
        own: E4,
        entries: [E1, E2, E3, E4],
        common: undefined,
        condition: CONDITION_FALSE,
      },
    ],
    [
      "its new entry stands where the old one stood",
      {
        before: statusOf([E1, E2, E4], "v1", CONDITION_TRUE),
        own: { ...E3, apiServerID: "2" },
        entries: [E1, { ...E3, apiServerID: "2" }, E4],
        common: undefined,
        condition: at(CONDITION_FALSE, NOW),
      },
    ],
    [
      "its new entry can bring the agreement",
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
    "is unset from the beginning when servers differ",
    {
      before: statusOf([E1, E2, E3], undefined),
      entries: [E1, E2, E3],
      common: undefined,
      condition: at(CONDITION_FALSE, NOW),
    },
  ],
  [
    "is taken away when servers differ",
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
    "is set from the beginning when servers agree",
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
    "is set when servers have come to agree",
    {
      before: statusOf([E1, E2], undefined, CONDITION_FALSE),
      entries: [E1, E2],
      common: "v1",
      condition: at(CONDITION_TRUE, NOW),
    },
  ],
  [
    "makes a transition when it becomes another",
    {
      before: statusOf([E3, E5], "v1", CONDITION_TRUE),
      entries: [E3, E5],
      common: "v2",
      condition: at(CONDITION_TRUE, NOW),
    },
  ],
  [
    "is unset where there is no entry",
    { before: {}, entries: [], common: undefined, condition: at(CONDITION_FALSE, NOW) },
  ],
  [
    "is taken away with the last entry",
    {
      before: statusOf([entry("gone", "v1")], "v1", CONDITION_TRUE),
      entries: [],
      common: undefined,
      condition: at(CONDITION_FALSE, NOW),
    },
  ],
  [
    "is that of the servers that live",
    {
      before: statusOf([entry("gone", "v1"), E3, E5], undefined, CONDITION_FALSE),
      entries: [E3, E5],
      common: "v2",
      condition: at(CONDITION_TRUE, NOW),
    },
  ],
  [
    "is not missed while a condition lacks its time, which it is given",
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
    ["nobody has one", [], undefined],
    ["one server has its own", [E3], "v2"],
    ["equal entries have it", [E1, E2, E4], "v1"],
    ["one other suffices that there is none", [E1, E2, E3], undefined],
  ])("of entries: %s", (_rule, entries, expected) => {
    expect(commonVersion(entries)).toBe(expected);
  });
});

describe("what is not ours, and what does not change", () => {
  test("conditions of other types stay, where they stand", () => {
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

  test("a first condition comes after those of other types", () => {
    const before = statusOf([E1], undefined, FOREIGN_CONDITION);
    expect(settle(before, { live: ALL, now: NOW }).conditions).toEqual([FOREIGN_CONDITION, at(CONDITION_TRUE, NOW)]);
  });

  test.each<[string, StorageVersionStatus, ServerStorageVersion | undefined]>([
    ["an agreement", statusOf([E1, E2], "v1", CONDITION_TRUE), undefined],
    ["a disagreement", statusOf([E1, E3], undefined, CONDITION_FALSE), undefined],
    ["an entry that is there already", statusOf([E1, E2], "v1", CONDITION_TRUE), { ...E2 }],
    [
      "an entry that is there already, its members in another order",
      statusOf([E1, E2], "v1", CONDITION_TRUE),
      REORDERED_E2,
    ],
    ["an object nobody has an entry in", statusOf([], undefined, CONDITION_FALSE), undefined],
  ])("%s that needs nothing is the same object: nobody writes it", (_what, status, own) => {
    expect(settle(status, { live: ALL, now: NOW, ...(own === undefined ? {} : { own }) })).toBe(status);
  });

  test("entries stand in the order of their servers' IDs, whoever came first", () => {
    const before = statusOf([E5, entry("gone", "v1"), E1, entry("lost", "v1"), E3], undefined, CONDITION_FALSE);
    expect(settle(before, { live: ALL, now: NOW, own: E2 }).storageVersions).toEqual([E1, E2, E3, E5]);
  });

  test("neither the object given nor its entries are changed", () => {
    const before = statusOf([E5, E1, entry("gone", "v1")], "v1", CONDITION_TRUE);
    const copy = structuredClone(before);
    settle(before, { live: ALL, now: NOW, own: E2 });
    expect(before).toEqual(copy);
  });

  test("a server that is not alive cannot insert an entry", () => {
    const before = statusOf([E1], "v1", CONDITION_TRUE);
    expect(settle(before, { live: ALL, now: NOW, own: entry("gone", "v2") })).toBe(before);
  });
});

describe("servers nobody knows about yet", () => {
  test("a live server without entry that has not published makes it Unknown, and there is no common version", () => {
    const before = statusOf([E1, E2], "v1", CONDITION_TRUE);
    const live = liveServers("1", "2", "-new", "-another");
    expect(settle(before, { live, now: NOW })).toEqual(
      statusOf([E1, E2], undefined, at(conditionUnknown("another", "new"), NOW)),
    );
  });

  test("it is Unknown too where the entries disagree", () => {
    const before = statusOf([E1, E3], undefined, CONDITION_FALSE);
    const after = settle(before, { live: liveServers("1", "3", "-new"), now: NOW });
    expect(after).toEqual(statusOf([E1, E3], undefined, at(conditionUnknown("new"), NOW)));
  });

  test("a live server without entry that has published everything does not store the resource", () => {
    const before = statusOf([E1, E2], "v1", CONDITION_TRUE);
    expect(settle(before, { live: liveServers("1", "2", "other"), now: NOW })).toBe(before);
  });

  test("a server that has an entry is not waited for, although it has others to publish", () => {
    const before = statusOf([E1, E2], "v1", CONDITION_TRUE);
    expect(settle(before, { live: liveServers("1", "-2"), now: NOW })).toBe(before);
  });

  test("whoever inserts its entry is not waited for", () => {
    const before = statusOf([E1], undefined, conditionUnknown("2"));
    const after = settle(before, { live: liveServers("1", "-2"), now: NOW, own: E2 });
    expect(after).toEqual(statusOf([E1, E2], "v1", at(CONDITION_TRUE, NOW)));
  });

  test("waiting for somebody else is no transition", () => {
    const before = statusOf([E1], undefined, conditionUnknown("a"));
    expect(settle(before, { live: liveServers("1", "-b"), now: NOW })).toEqual(
      statusOf([E1], undefined, conditionUnknown("b")),
    );
  });

  test("when nobody is waited for any more, the entries decide, and that is a transition", () => {
    const before = statusOf([E1, E2], undefined, conditionUnknown("gone"));
    expect(settle(before, { live: ALL, now: NOW })).toEqual(statusOf([E1, E2], "v1", at(CONDITION_TRUE, NOW)));
    const differing = statusOf([E1, E3], undefined, conditionUnknown("gone"));
    expect(settle(differing, { live: ALL, now: NOW })).toEqual(statusOf([E1, E3], undefined, at(CONDITION_FALSE, NOW)));
  });

  test.each<[string, ServerStorageVersion[], string[], string[]]>([
    ["nobody where all have published", [E1], ["1", "2"], []],
    ["nobody where all have an entry", [E1, E2], ["-1", "-2"], []],
    ["those with neither, sorted", [E1], ["-c", "1", "-a", "b"], ["a", "c"]],
    ["not those with an entry that are gone", [entry("gone", "v1")], ["-1"], ["1"]],
  ])("pending are: %s", (_who, entries, live, expected) => {
    expect(pendingServers(entries, liveServers(...live))).toEqual(expected);
  });

  test("pending are only servers of a component that has spoken", () => {
    const wardle = { id: "w", component: "wardle-apiserver", isPublished: false };
    const live = new Map([...liveServers("1", "-2"), ["w", wardle]]);
    expect(pendingServers([E1], live)).toEqual(["2"]);
    expect(pendingServers([entry("w", "v1", "v1")], live)).toEqual([]);
    expect(pendingServers([], live)).toEqual(["2", "w"]);
  });
});

describe("the encoding chosen", () => {
  const own: StoredVersions = { preferred: "v3", decodable: ["v4", "v3", "v2", "v1"] };

  test.each<[string, ServerStorageVersion[], string | undefined]>([
    ["the release's own when one is alone", [], "v3"],
    ["the release's own when all others read it", [entry("a", "v2", "v2 v3")], "v3"],
    ["the release's own although a more preferred one could be read", [entry("a", "v4", "v4 v3")], "v3"],
    ["else the most preferred that all others read", [entry("a", "v1", "v1 v2")], "v2"],
    ["by its own order of preference, not theirs", [entry("a", "v1", "v1 v4 v2")], "v4"],
    ["what one of them cannot read is out", [entry("a", "v1", "v1 v2"), entry("b", "v1", "v1")], "v1"],
    ["none when one of them reads nothing of ours", [entry("a", "v3"), entry("b", "v9")], undefined],
    ["none when two of them have nothing in common", [entry("a", "v1"), entry("b", "v2")], undefined],
  ])("is %s", (_rule, others, expected) => {
    expect(chooseEncoding(own, others)).toBe(expected);
  });
});

describe("whether a server may write", () => {
  test.each<[string, StorageVersionStatus, string]>([
    ["nobody has an entry", {}, "this server has no entry in it"],
    ["only others have an entry", statusOf([E2], "v1"), "this server has no entry in it"],
    [
      "somebody cannot read what it writes",
      statusOf([entry("1", "v2", "v1 v2"), E2, entry("3", "v1"), entry("4", "v1")], undefined),
      "this server writes v2, which 3, 4 cannot read",
    ],
  ])("not when %s", (_why, status, because) => {
    expect(writability(status, "1")).toEqual({ kind: "closed", because });
  });

  test.each<[string, StorageVersionStatus, string]>([
    ["it is alone", statusOf([E1], "v1", CONDITION_TRUE), "v1"],
    ["all write the same", statusOf([E1, E2], "v1", CONDITION_TRUE), "v1"],
    ["others write something else and read this", statusOf([E1, E3], undefined, CONDITION_FALSE), "v1"],
    ["somebody is being waited for", statusOf([E1], undefined, conditionUnknown("new")), "v1"],
    [
      "it cannot read what somebody else writes, who is the one that may not",
      statusOf([entry("1", "v1"), entry("2", "v2", "v1 v2")], undefined),
      "v1",
    ],
  ])("yes when %s", (_why, status, version) => {
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

describe("of every object", () => {
  test("after settling, every entry's server is alive, and nobody's who is was dropped", () => {
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

  test("the common version is set, and said to be, iff there are entries, all agree and nobody is pending", () => {
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

  test("settling what is settled changes nothing, whatever the time", () => {
    fc.assert(
      fc.property(statuses, live, (status, members) => {
        const after = settle(status, { live: members, now: NOW });
        expect(settle(after, { live: members, now: "2031-01-01T00:00:00Z" })).toBe(after);
      }),
    );
  });

  test("the time of the transition moves iff the status or the common version does", () => {
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

  test("what others say is neither lost nor changed", () => {
    fc.assert(
      fc.property(statuses, live, (status, members) => {
        const foreign = ({ conditions: stated = [] }: StorageVersionStatus): StorageVersionCondition[] =>
          stated.filter(({ type }) => type !== ALL_ENCODING_VERSIONS_EQUAL);
        expect(foreign(settle(status, { live: members, now: NOW }))).toEqual(foreign(status));
      }),
    );
  });
});

describe("of every choice", () => {
  test("what is chosen can be read by all, oneself included; where nothing is, there is nothing", () => {
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

  test("servers that publish one after another and choose anew end open iff there is something all can read", () => {
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

  test("whatever servers publish, no two that may write leave the other something it cannot read", () => {
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
