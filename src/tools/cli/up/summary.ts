/** The summary of a running cluster, for users and for scripts. */
import { someOf } from "../../../base/some-of.ts";
import type { ServerInfo } from "./cluster.ts";
import { alignColumns } from "../../../base/columns.ts";
import type { LoadBalancerCounts } from "./load-balancer.ts";
import { Skew, type Difference } from "./skew.ts";

interface SummaryParts {
  readonly servers: readonly ServerInfo[];
  readonly featureGates: readonly string[];
  readonly loadBalancer: string;
  readonly kubeconfig: string;
  readonly objects: string;
}

const NAMED_MAX = 2;

export function clusterSummary({ servers, featureGates, loadBalancer, kubeconfig, objects }: SummaryParts): string {
  const skew = new Skew(servers, featureGates);
  const table = alignColumns([
    ["ID", "RELEASE", "URL", "API DIFFERENCES"],
    ...servers.map(({ id, spec, url }) => [id, spec.text, url, inWords(skew.differenceOf(id))]),
  ]);
  const example = skew.example();
  const tryThis =
    example === undefined
      ? ["  kubectl get namespaces"]
      : [
          `  kubectl --context ${example.through.id} get ${example.resource}`,
          `  # ${example.through.id} (${example.through.spec.text}) does not serve this resource and proxies the request to ${example.from.id} (${example.from.spec.text}).`,
        ];
  return [
    "",
    table,
    `Load balancer: ${loadBalancer}`,
    `Objects: ${objects}`,
    "",
    "  export KUBECONFIG=" + kubeconfig,
    ...tryThis,
    "",
  ].join("\n");
}

function inWords({ has, lacks }: Difference): string {
  const parts = [
    ...(has.length === 0 ? [] : [`+ ${someOf(has, NAMED_MAX)}`]),
    ...(lacks.length === 0 ? [] : [`- ${someOf(lacks, NAMED_MAX)}`]),
  ];
  return parts.length === 0 ? "none" : parts.join("  ");
}

/** The status line. `unreachable` returns the reason why other servers cannot reach a server, if they cannot. */
export function statusText(
  servers: readonly ServerInfo[],
  { open }: LoadBalancerCounts,
  unreachable: (id: string) => string | undefined,
): string {
  const ready = servers.filter(({ isReady }) => isReady).length;
  const each = servers.map((server) => {
    const because = unreachable(server.id);
    const reason = because === undefined ? "" : `, unreachable (${because})`;
    return `${server.id} ${server.spec.release} ${stateOf(server)}${reason}`;
  });
  return `${ready}/${servers.length} ready | ${each.join(" | ")} | ${open} connections`;
}

function stateOf({ state, isReady, isPartitioned }: ServerInfo): string {
  const word = state === "running" ? (isReady ? "ready" : "not ready") : state;
  return isPartitioned ? `${word}, partitioned` : word;
}

/** The state of a server as JSON for scripts: no value needs further parsing. */
export function serverJson({ id, spec, url, pid, state, isReady, isPartitioned }: ServerInfo): object {
  return { id, release: spec.release, spec: spec.text, url, pid: pid ?? null, state, isReady, isPartitioned };
}
