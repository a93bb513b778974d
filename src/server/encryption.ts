/** The encryption of a server's store, from the file of --encryption-provider-config. */
import { createResourceOfKey } from "../cluster/inspect/resource-of-key.ts";
import { closestName } from "../base/closest-name.ts";
import { OptionError } from "../base/option-error.ts";
import { formatGroupResource } from "../meta/group-version.ts";
import { isBuiltInGroup } from "../objects/catalog/built-in-groups.ts";
import { storagePlaces } from "../objects/catalog/storage-places.ts";
import { parseYaml } from "../objects/yaml/yaml.ts";
import type { HealthCheck } from "../serving/endpoints/health.ts";
import { Encryption, type LoadedConfig } from "../storage/encryption/encryption.ts";
import { parseEncryptionConfig } from "../storage/encryption/encryption-config.ts";
import { createEncryptionMetrics, sha256 } from "../storage/encryption/encryption-metrics.ts";
import type { Foundation } from "./foundation.ts";

export interface EncryptionFile {
  /** Returns the text of the EncryptionConfiguration. Throws an Error if it cannot be read. */
  readonly read: () => string;
  /** Whether the file is read at an interval and applied if it has changed. Default: false. */
  readonly reloads?: boolean;
}

/** A valid file. */
export interface EncryptionConfigFile {
  readonly initial: LoadedConfig;
  readonly reload: ((knownHash: string) => LoadedConfig | undefined) | undefined;
}

/** Throws an OptionError if the file is invalid. */
export function encryptionFile(given: EncryptionFile | undefined): EncryptionConfigFile | undefined {
  if (given === undefined) return undefined;
  const { read, reloads = false } = given;
  const load = (knownHash: string): LoadedConfig | undefined => {
    const text = read();
    const hash = sha256(text);
    return hash === knownHash ? undefined : { config: parsed(text), hash };
  };
  return { initial: load(UNKNOWN)!, reload: reloads ? load : undefined };
}

/** No text has this hash. */
const UNKNOWN = "unknown";

function parsed(text: string): LoadedConfig["config"] {
  const result = parseEncryptionConfig(valueOf(text));
  if (!result.isValid)
    throw new OptionError(
      `the encryption configuration (--encryption-provider-config) is invalid: ${result.problems.join(" ")}`,
    );
  return result.config;
}

/** The error about a text that is not YAML does not quote the text, because it contains secrets. */
function valueOf(text: string): unknown {
  try {
    return parseYaml(text).value;
  } catch {
    throw new OptionError("the encryption configuration (--encryption-provider-config) is not valid YAML");
  }
}

/** Calls the KMS plugins once. Undefined if nothing is encrypted. */
export async function openEncryption({ env, config, metrics }: Foundation): Promise<Encryption | undefined> {
  const { clock, random, log, openKmsPlugin } = env;
  if (config.encryption === undefined) return undefined;
  for (const [resource, didYouMean] of unknownResources([...config.encryption.initial.config.keys()]))
    log.warn("the encryption configuration encrypts nothing of a resource that Kubernetes does not have", {
      resource,
      ...(didYouMean === undefined ? {} : { didYouMean }),
    });
  const encryption = new Encryption({
    ...config.encryption,
    clock,
    random,
    log,
    metrics: createEncryptionMetrics(metrics, clock, config.peers.serverId),
    openPlugin: (address, onCall) => {
      if (openKmsPlugin === undefined) throw new OptionError("this server cannot call KMS plugins");
      return openKmsPlugin(address, onCall);
    },
    resourceOf: createResourceOfKey(config.storageRoot),
  });
  await encryption.check();
  return encryption;
}

/**
 * The names that no release stores, each with the name that the operator may have meant. Names of custom resources are
 * not judged, because their definitions are in the store. As kubernetes, the server starts all the same.
 */
function unknownResources(names: readonly string[]): readonly (readonly [name: string, didYouMean?: string])[] {
  const stored = storagePlaces().map((place) => formatGroupResource(place));
  return names.flatMap((name) => {
    const [resource = "", ...group] = name.split(".");
    if (resource === "*" || stored.includes(name) || !isBuiltInGroup(group.join("."))) return [];
    const meant = stored.find((one) => one.startsWith(`${resource}.`)) ?? closestName(name, stored);
    return [meant === undefined ? [name] : [name, meant]];
  });
}

/** As kubernetes: an outage of a KMS plugin does not fail /livez, because a restart would not end it. */
export function encryptionChecks(encryption: Encryption | undefined): readonly HealthCheck[] {
  const check = encryption?.healthCheck();
  return check === undefined ? [] : [{ name: "kms-providers", check, endpoints: ["healthz", "readyz"] }];
}
