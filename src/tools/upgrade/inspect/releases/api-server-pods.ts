/** Reads the release and the flags of API servers from the mirror Pods of kubeadm's static Pods. */
import { isJsonObject, objectAt, specOf, stringAt, stringsAt, type JsonObject } from "../../../../meta/json.ts";
import { bounded } from "../collect/resource-stats.ts";
import type { ApiServerState } from "../inspection.ts";

const CONTAINER = "kube-apiserver";
const FLAGS_MAX = 50;
const FLAGS: readonly string[] = [
  "--runtime-config",
  "--feature-gates",
  "--emulated-version",
  "--min-compatibility-version",
  "--encryption-provider-config",
  "--etcd-prefix",
];
const TAG = /:(v?1\.\d{1,3}(?:\.\d{1,3})?[0-9A-Za-z.+_-]{0,60})(?:@|$)/;

export function apiServerOf(pod: JsonObject): ApiServerState | undefined {
  const containers = specOf(pod)["containers"];
  if (!Array.isArray(containers)) return undefined;
  const container = containers.filter(isJsonObject).find((one) => stringAt(one, "name") === CONTAINER);
  if (container === undefined) return undefined;
  const metadata = objectAt(pod, "metadata");
  const image = stringAt(container, "image");
  const version = TAG.exec(image)?.[1];
  const flags = relevantFlags([...stringsAt(container, "command"), ...stringsAt(container, "args")]);
  return {
    name: bounded(`${stringAt(metadata, "namespace")}/${stringAt(metadata, "name")}`),
    ...(image === "" ? {} : { image: bounded(image) }),
    ...(version === undefined ? {} : { version }),
    flags,
  };
}

/** The values of a flag of all occurrences, split at commas. */
export function flagValues(flags: readonly string[], name: string): readonly string[] {
  const start = `${name}=`;
  const values = flags.flatMap((flag) => (flag.startsWith(start) ? flag.slice(start.length).split(",") : []));
  return values.map((value) => value.trim()).filter((value) => value !== "");
}

/** In the form --name=value, also where the value is an argument of its own. */
function relevantFlags(words: readonly string[]): readonly string[] {
  const flags = words.flatMap((word, index) => {
    const name = FLAGS.find((flag) => word === flag || word.startsWith(`${flag}=`));
    if (name === undefined) return [];
    return [bounded(word === name ? `${name}=${words[index + 1] ?? ""}` : word)];
  });
  return flags.slice(0, FLAGS_MAX);
}
