/** Warnings about conflicting container ports of a pod. */
import { numberAt, objectsAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import { containersWithFields } from "../rules/container-visit.ts";

/**
 * DIFFERS: each port is compared with at most this many other ports of the same number; kubernetes compares it with all
 * of them.
 */
const COMPARED_MAX = 100;

interface PortAt {
  readonly field: string;
  readonly name: string;
  readonly hostIp: string;
  readonly hostPort: number;
  /** The number and protocol of the port. */
  readonly key: string;
  readonly port: JsonObject;
}

export function* portWarnings(spec: JsonObject, at: string): Generator<string> {
  const ports = [...portsOf(spec, at)];
  const known = new Map<string, PortAt[]>();
  for (const port of ports) {
    if (port.hostIp !== "" && port.hostPort === 0)
      yield `${port.field}: hostIP set without hostPort: ${shownPort(port)}`;
    const others = known.get(port.key) ?? [];
    for (const other of others) yield* clashWarnings(port, other);
    if (others.length < COMPARED_MAX) known.set(port.key, [...others, port]);
  }
  const names = new Map<string, string>();
  for (const { name, field } of ports) {
    const other = names.get(name);
    if (name !== "" && other !== undefined)
      yield `${field}: duplicate port name ${JSON.stringify(name)} with ${other}, services and probes that select ports by name will use ${other}`;
    else names.set(name, field);
  }
}

function* portsOf(spec: JsonObject, at: string): Generator<PortAt> {
  for (const { container, field } of containersWithFields(spec, at))
    for (const [index, port] of objectsAt(container, "ports").entries())
      yield {
        field: `${field}.ports[${index}]`,
        name: stringAt(port, "name"),
        hostIp: stringAt(port, "hostIP"),
        hostPort: numberAt(port, "hostPort") ?? 0,
        key: `${numberAt(port, "containerPort") ?? 0}/${stringAt(port, "protocol")}`,
        port,
      };
}

function* clashWarnings(port: PortAt, other: PortAt): Generator<string> {
  const isSameIp = port.hostIp === other.hostIp;
  const isSamePort = port.hostPort === other.hostPort;
  if (isSameIp && isSamePort) yield `${port.field}: duplicate port definition with ${other.field}`;
  else if (port.hostPort === 0 || other.hostPort === 0)
    yield `${port.field}: overlapping port definition with ${other.field}`;
  else if (isSamePort && (port.hostIp === "") !== (other.hostIp === ""))
    yield `${port.field}: dangerously ambiguous port definition with ${other.field}`;
}

/** The port as Go prints a struct. */
function shownPort({ port, name, hostIp, hostPort }: PortAt): string {
  return `{Name:${name} HostPort:${hostPort} ContainerPort:${numberAt(port, "containerPort") ?? 0} Protocol:${stringAt(port, "protocol")} HostIP:${hostIp}}`;
}
