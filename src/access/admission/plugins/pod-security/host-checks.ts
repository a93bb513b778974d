/**
 * Pod security checks of host access: namespaces, paths, ports and processes of the node, hosts of probes, and sysctls.
 */
import { isJsonObject, numberAt, objectAt, objectsAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import {
  violatingContainers,
  containersOf,
  containersText,
  contextOf,
  plural,
  quoted,
  settersText,
  sorted,
  type PodSecurityCheck,
  type CheckPod,
  type PodLike,
} from "./check.ts";

function hostNamespaces({ spec }: PodLike): ReturnType<CheckPod> {
  const shared = ["hostNetwork", "hostPID", "hostIPC"].filter((member) => spec[member] === true);
  if (shared.length === 0) return undefined;
  return { reason: "host namespaces", detail: shared.map((member) => `${member}=true`).join(", ") };
}

function hostPathVolumes({ spec }: PodLike): ReturnType<CheckPod> {
  const names = objectsAt(spec, "volumes")
    .filter((volume) => isJsonObject(volume["hostPath"]))
    .map((volume) => stringAt(volume, "name"));
  if (names.length === 0) return undefined;
  return { reason: "hostPath volumes", detail: `${plural(names.length, "volume", "volumes")} ${quoted(names)}` };
}

function hostPortsOf(container: JsonObject): string[] {
  return objectsAt(container, "ports")
    .map((port) => numberAt(port, "hostPort") ?? 0)
    .filter((port) => port !== 0)
    .map(String);
}

function hostPorts(pod: PodLike): ReturnType<CheckPod> {
  const names = violatingContainers(pod, (container) => hostPortsOf(container).length > 0);
  if (names.length === 0) return undefined;
  const ports = sorted(containersOf(pod).flatMap(hostPortsOf));
  const noun = plural(ports.length, "hostPort", "hostPorts");
  return {
    reason: "hostPort",
    detail: `${containersText(names)} ${plural(names.length, "uses", "use")} ${noun} ${ports.join(", ")}`,
  };
}

function hostsOf(container: JsonObject): string[] {
  const lifecycle = objectAt(container, "lifecycle");
  const handlers = [
    ...["livenessProbe", "readinessProbe", "startupProbe"].map((member) => objectAt(container, member)),
    ...["postStart", "preStop"].map((member) => objectAt(lifecycle, member)),
  ];
  return handlers
    .flatMap((handler) => ["httpGet", "tcpSocket"].map((member) => stringAt(objectAt(handler, member), "host")))
    .filter((host) => host !== "");
}

function probeHosts(pod: PodLike): ReturnType<CheckPod> {
  const names = sorted(violatingContainers(pod, (container) => hostsOf(container).length > 0));
  if (names.length === 0) return undefined;
  const hosts = sorted(containersOf(pod).flatMap(hostsOf));
  const noun = plural(hosts.length, "probe or lifecycle host", "probe or lifecycle hosts");
  const detail = `${containersText(names)} ${plural(names.length, "uses", "use")} ${noun} ${quoted(hosts)}`;
  return { reason: "probe or lifecycle host", detail };
}

const SYSCTLS: readonly string[] = [
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.ping_group_range",
  "net.ipv4.ip_unprivileged_port_start",
];
const SYSCTLS_27: readonly string[] = [...SYSCTLS, "net.ipv4.ip_local_reserved_ports"];
const SYSCTLS_29: readonly string[] = [
  ...SYSCTLS_27,
  "net.ipv4.tcp_keepalive_time",
  "net.ipv4.tcp_fin_timeout",
  "net.ipv4.tcp_keepalive_intvl",
  "net.ipv4.tcp_keepalive_probes",
];
const SYSCTLS_32: readonly string[] = [...SYSCTLS_29, "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"];

function sysctls(allowed: readonly string[]): CheckPod {
  const allowedNames = new Set(allowed);
  return ({ spec }) => {
    const forbidden = objectsAt(contextOf(spec), "sysctls")
      .map((sysctl) => stringAt(sysctl, "name"))
      .filter((name) => !allowedNames.has(name));
    return forbidden.length === 0 ? undefined : { reason: "forbidden sysctls", detail: forbidden.join(", ") };
  };
}

function isHostProcess(containerOrSpec: JsonObject): boolean {
  return objectAt(contextOf(containerOrSpec), "windowsOptions")["hostProcess"] === true;
}

function windowsHostProcess(pod: PodLike): ReturnType<CheckPod> {
  const setters = settersText(isHostProcess(pod.spec), violatingContainers(pod, isHostProcess));
  if (setters === undefined) return undefined;
  return { reason: "hostProcess", detail: `${setters} must not set securityContext.windowsOptions.hostProcess=true` };
}

export const HOST_CHECKS: readonly PodSecurityCheck[] = [
  { id: "hostNamespaces", level: "baseline", versions: [[0, hostNamespaces]] },
  { id: "hostPathVolumes", level: "baseline", versions: [[0, hostPathVolumes]] },
  { id: "hostPorts", level: "baseline", versions: [[0, hostPorts]] },
  { id: "hostProbesAndHostLifecycle", level: "baseline", versions: [[34, probeHosts]] },
  {
    id: "sysctls",
    level: "baseline",
    versions: [
      [0, sysctls(SYSCTLS)],
      [27, sysctls(SYSCTLS_27)],
      [29, sysctls(SYSCTLS_29)],
      [32, sysctls(SYSCTLS_32)],
    ],
  },
  { id: "windowsHostProcess", level: "baseline", versions: [[0, windowsHostProcess]] },
];
