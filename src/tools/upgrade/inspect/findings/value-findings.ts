/** Values that cannot be read, values and keys of encryption at rest, and objects that are too large. */
import { formatGroupResource } from "../../../../meta/group-version.ts";
import { SUBJECTS_MAX, type UpgradeFinding, type FindingSubject } from "../../finding.ts";
import type { Facts } from "../facts.ts";
import type { EncryptionKeyStatus, EncryptionKeyTally } from "../inspection.ts";
import { are, counted, rewriteCommand } from "./text.ts";

/** etcd rejects requests above 1.5 MiB by default. */
const LARGE_BYTES = 1024 * 1024;

export function valueFindings(facts: Facts): UpgradeFinding[] {
  return [...unreadableValues(facts), ...encryptionFindings(facts), ...clearValues(facts), ...largeObjects(facts)];
}

function unreadableValues({ unreadable: { count, values } }: Facts): UpgradeFinding[] {
  if (count === 0) return [];
  return [
    {
      id: "value-unreadable",
      severity: "error",
      title: `${counted(count, "stored value")} cannot be read`,
      why: "Servers fail every list of a resource that has one such value, so controllers that use the resource stop.",
      fix: [
        "Restore the object from a backup, or delete its key and create the object again:",
        ...values.slice(0, 1).map(({ key }) => `$ etcdctl del ${quoted(key)}`),
        "From 1.32 on, servers with the feature gate AllowUnsafeMalformedObjectDeletion can delete it through the API.",
      ],
      count,
      subjects: values.slice(0, SUBJECTS_MAX).map(({ key, reason }) => ({ name: key, detail: reason })),
    },
  ];
}

/** For a shell. */
function quoted(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function encryptionFindings(facts: Facts): UpgradeFinding[] {
  const { keys } = facts.encryption;
  const having = (...statuses: EncryptionKeyStatus[]): EncryptionKeyTally[] =>
    keys.filter(({ status }) => statuses.includes(status));
  return [
    ...keyFinding(having("not-tried"), {
      id: "encrypted-not-inspected",
      severity: "info",
      title: (values) => `${values} ${values === "1 value" ? "is" : "are"} encrypted, so only counted`,
      why: "Problems of these objects, and owners among them, are not part of this report.",
      fix: ["Pass the configuration of the API servers with --encryption-provider-config."],
    }),
    ...keyFinding(having("not-configured"), {
      id: "encryption-key-missing",
      severity: "error",
      title: (values) => `${values} cannot be decrypted, because the encryption configuration does not have the key`,
      why: "Servers with this configuration fail every list of a resource that has one such value.",
      fix: ["Add the key to the configuration of all API servers, for the resources that are listed here."],
    }),
    ...keyFinding(having("failed", "partly"), {
      id: "encryption-key-wrong",
      severity: "error",
      title: (values) =>
        `Not all of ${values} can be decrypted with the key of that name in the encryption configuration`,
      why: "Servers with this configuration fail every list of a resource that has one such value.",
      fix: [
        "Check whether the name was given to another key, and add the previous key under the same name behind the new one.",
      ],
    }),
    ...keyFinding(having("no-response"), {
      id: "kms-plugin-unavailable",
      severity: "warning",
      title: (values) => `${values} cannot be decrypted, because the KMS plugin does not decrypt their data keys`,
      why: "These values are only counted. API servers cannot read them either, unless the plugin responds on their machines.",
      fix: [
        "Run this command where the plugin listens, and check in the log of the plugin whether it still has the keys.",
      ],
    }),
    ...keyFinding(
      having("decrypted").filter(({ isWriter }) => !isWriter),
      {
        id: "encryption-key-outdated",
        severity: "info",
        title: (values) =>
          `${values} ${values === "1 value" ? "is" : "are"} encrypted with a key that is not the first of its resource`,
        why: "The key cannot be removed from the configuration before these values are rewritten.",
        fix: ["Rewrite the objects, so that the servers encrypt them with the first key:", ...rewriteAll(keys)],
      },
    ),
    ...keyFinding(
      having("unused").filter(({ isWriter }) => !isWriter),
      {
        id: "encryption-key-retirable",
        severity: "info",
        title: () => "The encryption configuration has keys that no value needs",
        why: "A key that is not used can leak without a benefit. Backups that are older than the last rewrite may still need it.",
        fix: [
          "Remove the keys from the configuration of all API servers, and keep them with the backups that need them.",
        ],
      },
    ),
  ];
}

type KeyRule = Pick<UpgradeFinding, "id" | "severity" | "why" | "fix"> & { readonly title: (values: string) => string };

function keyFinding(keys: readonly EncryptionKeyTally[], { title, ...rule }: KeyRule): UpgradeFinding[] {
  if (keys.length === 0) return [];
  const values = keys.reduce((sum, key) => sum + key.values, 0);
  return [
    {
      ...rule,
      title: title(counted(values, "value")),
      count: keys.length,
      subjects: keys.slice(0, SUBJECTS_MAX).map((key): FindingSubject => ({
        name: `${key.provider}:${key.version}:${key.key}`,
        detail: `${counted(key.values, "value")} of ${key.resources.join(", ")}`,
      })),
    },
  ];
}

function rewriteAll(keys: readonly EncryptionKeyTally[]): string[] {
  const outdated = keys.filter(({ isWriter, values }) => !isWriter && values > 0);
  const resources = new Set(outdated.flatMap((key) => key.resources));
  return [...resources].map((resource) => rewriteCommand({ group: "", resource }));
}

function clearValues({ clearValues: all }: Facts): UpgradeFinding[] {
  return [true, false].flatMap((isAllowed): UpgradeFinding[] => {
    const clear = all.filter((one) => one.isAllowed === isAllowed);
    if (clear.length === 0) return [];
    const values = clear.reduce((sum, one) => sum + one.values, 0);
    const text = counted(values, "value");
    return [
      {
        id: isAllowed ? "value-in-clear" : "value-in-clear-rejected",
        severity: isAllowed ? "warning" : "error",
        title: isAllowed
          ? `${text} ${are(values)} stored in clear, although the encryption configuration encrypts the resource`
          : `${text} ${are(values)} stored in clear, and the encryption configuration has no identity provider for the resource`,
        why: isAllowed
          ? "The values were written before encryption was configured. Everyone with a copy of the database can read them."
          : "Servers with this configuration fail every list of a resource that has one such value.",
        fix: [
          ...(isAllowed ? [] : ["Add an identity provider behind the others, and restart the API servers."]),
          "Rewrite the objects, so that the servers encrypt them:",
          ...clear.map(({ stat }) => rewriteCommand(stat)),
        ],
        count: clear.length,
        subjects: clear.slice(0, SUBJECTS_MAX).map((one) => ({
          name: formatGroupResource(one.stat),
          detail: counted(one.values, "value"),
        })),
      },
    ];
  });
}

function largeObjects({ largest }: Facts): UpgradeFinding[] {
  const large = largest.filter(({ bytes }) => bytes >= LARGE_BYTES);
  if (large.length === 0) return [];
  return [
    {
      id: "object-large",
      severity: "warning",
      title: `${counted(large.length, "object")} ${are(large.length)} larger than 1 MiB`,
      why: "etcd rejects requests above 1.5 MiB by default. A new release may add fields to an object, so that a write of the same object fails.",
      fix: ["Divide the content among several objects, or keep it outside of the cluster."],
      count: large.length,
      subjects: large.map(({ name, bytes }) => ({ name, detail: counted(bytes, "byte") })),
    },
  ];
}
