/** Validation of the ports of a Service, of each port and of all ports together, with Kubernetes' messages. */
import { duplicateValue, forbiddenField, invalidValue, required } from "../../../../meta/field-errors.ts";
import { stringAt, type JsonObject } from "../../../../meta/json.ts";
import { dnsLabelErrors, qualifiedNameErrors } from "../../../../meta/names.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { enumErrors, nameErrors, countAt, portNumberErrors } from "../../checks.ts";
import { portNameErrors } from "../name-checks.ts";
import { portsOf, PROTOCOLS } from "./service-fields.ts";

export function* portErrors(ports: readonly JsonObject[]): Generator<FieldError> {
  const names = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const field = `spec.ports[${index}]`;
    const name = stringAt(port, "name");
    if (name !== "") {
      yield* nameErrors(name, `${field}.name`, dnsLabelErrors);
      if (names.has(name)) yield duplicateValue(`${field}.name`, name);
      names.add(name);
    } else if (ports.length > 1) yield required(`${field}.name`);
    yield* portNumberErrors(countAt(port, "port"), `${field}.port`);
    yield* enumErrors(stringAt(port, "protocol"), `${field}.protocol`, PROTOCOLS);
    yield* targetPortErrors(port["targetPort"], `${field}.targetPort`);
    if (port["appProtocol"] !== undefined)
      yield* nameErrors(stringAt(port, "appProtocol"), `${field}.appProtocol`, qualifiedNameErrors);
  }
}

function* targetPortErrors(target: unknown, field: string): Generator<FieldError> {
  if (typeof target !== "string") yield* portNumberErrors(Number(target ?? 0), field);
  else for (const sentence of portNameErrors(target)) yield invalidValue(field, target, sentence);
}

export function* nodePortErrors(spec: JsonObject): Generator<FieldError> {
  if (spec["type"] !== "ClusterIP") return;
  for (const [index, port] of portsOf(spec).entries())
    if (countAt(port, "nodePort") !== 0)
      yield forbiddenField(`spec.ports[${index}].nodePort`, "may not be used when `type` is 'ClusterIP'");
}

/** Port numbers are unique per protocol. */
export function* repeatedPortErrors(ports: readonly JsonObject[]): Generator<FieldError> {
  const nodePorts = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const nodePort = countAt(port, "nodePort");
    const key = `${nodePort}/${stringAt(port, "protocol")}`;
    if (nodePort === 0) continue;
    if (nodePorts.has(key)) yield duplicateValue(`spec.ports[${index}].nodePort`, nodePort);
    nodePorts.add(key);
  }
  const numbers = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const key = `${countAt(port, "port")}/${stringAt(port, "protocol")}`;
    if (numbers.has(key)) yield duplicateValue(`spec.ports[${index}]`, shownPort(port));
    numbers.add(key);
  }
}

/** The internal type of a port with only its protocol and number set, as the error shows it. */
function shownPort(port: JsonObject): JsonObject {
  return {
    Name: "",
    Protocol: stringAt(port, "protocol"),
    AppProtocol: null,
    Port: countAt(port, "port"),
    TargetPort: 0,
    NodePort: 0,
  };
}
