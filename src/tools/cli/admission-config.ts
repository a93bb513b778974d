/** Reads the file of --admission-control-config-file: an AdmissionConfiguration with the configuration of plugins. */
import { dirname, resolve } from "node:path";
import { load } from "js-yaml";
import { isJsonObject, stringAt, type JsonObject } from "../../meta/json.ts";
import { asUsable, readFile } from "./read-file.ts";

/** Far more than any configuration needs: a user who names a larger file has named the wrong one. */
const CHARACTERS_MAX = 4 * 1024 * 1024;
const API_VERSIONS: readonly unknown[] = ["apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1"];
const POD_SECURITY = "PodSecurity";

/** The configuration of the plugin PodSecurity; undefined if the file has none. Other plugins must not have one. */
export function podSecurityIn(file: string): unknown {
  const value = parsed(file);
  return asUsable(() => {
    if (
      !isJsonObject(value) ||
      value["kind"] !== "AdmissionConfiguration" ||
      !API_VERSIONS.includes(value["apiVersion"])
    )
      throw new Error(`it must be an AdmissionConfiguration of ${API_VERSIONS.join(" or ")}`);
    const plugins = value["plugins"] ?? [];
    if (!Array.isArray(plugins) || !plugins.every(isJsonObject)) throw new Error("plugins must be a list of objects");
    const configured = plugins.filter(isConfigured);
    const other = configured.find((plugin) => stringAt(plugin, "name") !== POD_SECURITY);
    if (other !== undefined)
      throw new Error(`the configuration of the plugin ${JSON.stringify(stringAt(other, "name"))} is not supported`);
    const [plugin, ...more] = configured;
    if (more.length > 0) throw new Error(`the plugin ${POD_SECURITY} is configured more than once`);
    return plugin && (plugin["configuration"] ?? parsed(resolve(dirname(file), stringAt(plugin, "path"))));
  }, `the admission configuration ${file} cannot be used`);
}

function isConfigured(plugin: JsonObject): boolean {
  return (plugin["configuration"] ?? undefined) !== undefined || stringAt(plugin, "path") !== "";
}

function parsed(file: string): unknown {
  const text = readFile(file, "admission configuration (--admission-control-config-file)");
  return asUsable(() => {
    if (text.length > CHARACTERS_MAX) throw new Error("it is larger than 4 MB");
    return load(text);
  }, `the admission configuration ${file} cannot be used`);
}
