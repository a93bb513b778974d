/** Validation of hostnames, DNS settings and host aliases of a pod. */
import { forbiddenField, invalidValue, required, tooLong } from "../../../../meta/field-errors.ts";
import { isJsonObject, numberAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../../../meta/json.ts";
import { dnsSubdomainErrors } from "../../../../meta/names.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { nameErrors } from "../../checks.ts";
import { dnsSubdomainFieldErrors, ipErrors, searchDomainErrors } from "./formats.ts";
import type { SpecContext } from "./spec-context.ts";

const NAMESERVERS_MAX = 3;
const SEARCHES_MAX = 32;
const SEARCH_LENGTH_MAX = 2048;
const HOSTNAME_LENGTH_MAX = 64;

export function* dnsConfigErrors(spec: JsonObject, field: string, context: SpecContext): Generator<FieldError> {
  const config = spec["dnsConfig"];
  if (stringAt(spec, "dnsPolicy") === "None") {
    if (!isJsonObject(config)) {
      yield required(field, "must provide `dnsConfig` when `dnsPolicy` is None");
      return;
    }
    if (stringsAt(config, "nameservers").length === 0) {
      yield required(`${field}.nameservers`, "must provide at least one DNS nameserver when `dnsPolicy` is None");
      return;
    }
  }
  if (!isJsonObject(config)) return;
  const nameservers = stringsAt(config, "nameservers");
  if (nameservers.length > NAMESERVERS_MAX)
    yield invalidValue(`${field}.nameservers`, nameservers, `must not have more than ${NAMESERVERS_MAX} nameservers`);
  for (const [index, ip] of nameservers.entries()) yield* ipErrors(ip, `${field}.nameservers[${index}]`, context);
  yield* searchesErrors(stringsAt(config, "searches"), `${field}.searches`, context);
  for (const [index, option] of objectsAt(config, "options").entries())
    if (stringAt(option, "name") === "") yield required(`${field}.options[${index}]`, "must not be empty");
}

function* searchesErrors(searches: readonly string[], field: string, context: SpecContext): Generator<FieldError> {
  if (searches.length > SEARCHES_MAX)
    yield invalidValue(field, searches, `must not have more than ${SEARCHES_MAX} search paths`);
  if (searches.join(" ").length > SEARCH_LENGTH_MAX)
    yield invalidValue(
      field,
      searches,
      `must not have more than ${SEARCH_LENGTH_MAX} characters (including spaces) in the search list`,
    );
  const isRelaxed = context.gates.isOn("RelaxedDNSSearchValidation");
  for (const [index, search] of searches.entries()) {
    if (isRelaxed && search === ".") continue;
    const rule = isRelaxed ? searchDomainErrors : dnsSubdomainErrors;
    yield* nameErrors(search.replace(/\.$/, ""), `${field}[${index}]`, rule);
  }
}

export function* hostAliasesErrors(spec: JsonObject, field: string, context: SpecContext): Generator<FieldError> {
  for (const [index, alias] of objectsAt(spec, "hostAliases").entries()) {
    yield* ipErrors(stringAt(alias, "ip"), `${field}[${index}].ip`, context);
    for (const [at, name] of stringsAt(alias, "hostnames").entries())
      yield* dnsSubdomainFieldErrors(name, `${field}[${index}].hostnames[${at}]`);
  }
}

export function* hostnameOverrideErrors(spec: JsonObject, field: string): Generator<FieldError> {
  const name = spec["hostnameOverride"];
  if (typeof name !== "string") return;
  if (spec["setHostnameAsFQDN"] === true)
    yield forbiddenField(field, "may not be specified when setHostnameAsFQDN is true");
  if (spec["hostNetwork"] === true) yield forbiddenField(field, "may not be specified when hostNetwork is true");
  if (name.length > HOSTNAME_LENGTH_MAX) yield tooLong(field, HOSTNAME_LENGTH_MAX);
  yield* dnsSubdomainFieldErrors(name, field);
}

/**
 * On the host network, the host port must equal the container port. In a template the host port may be absent, because
 * pods get it by default.
 */
export function* hostNetworkErrors(spec: JsonObject, field: string, { isPod }: SpecContext): Generator<FieldError> {
  if (spec["hostNetwork"] !== true) return;
  for (const [index, container] of objectsAt(spec, "containers").entries())
    for (const [at, port] of objectsAt(container, "ports").entries()) {
      const hostPort = numberAt(port, "hostPort") ?? 0;
      if ((isPod || hostPort !== 0) && hostPort !== (numberAt(port, "containerPort") ?? 0))
        yield invalidValue(
          `${field}.containers[${index}].ports[${at}].hostPort`,
          hostPort,
          "must match `containerPort` when `hostNetwork` is true",
        );
    }
}
