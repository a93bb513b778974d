/**
 * What an empty store is given before the server calls itself ready, as start-up hooks with kubernetes'
 * names. All of them start together with the first, so that a store that can commit writes together does;
 * only what lies in a namespace waits for the namespaces. A store that has everything is only read.
 */
import type { Catalogue } from "../../catalogue/catalogue.ts";
import type { StartupHook } from "../lifecycle.ts";
import { flowControl } from "./flow-control.ts";
import { kubernetesService } from "./kubernetes-service.ts";
import { systemNamespaces } from "./namespaces.ts";
import { ensureAll, type Making } from "./owned-object.ts";
import { systemPriorityClasses } from "./priority-classes.ts";
import { servedVersions } from "./served-version.ts";
import { defaultServiceCidr } from "./service-cidr.ts";

export interface BootstrapOptions extends Making {
  readonly catalogue: Catalogue;
  readonly serviceCidr: string;
  /** The Service `kubernetes`; undefined when nobody can reach this server from outside its process. */
  readonly published: Published | undefined;
}

export interface Published {
  readonly clusterIp: string;
  readonly address: string | undefined;
  /** Where the server listens, once it does: an address and a port. */
  readonly announced: Promise<string>;
}

type Step = (signal: AbortSignal) => Promise<void>;

export function bootstrapHooks(options: BootstrapOptions): StartupHook[] {
  const serves = servedVersions(options.catalogue);
  const namespaces = once((signal) => ensureAll(options, systemNamespaces(), signal));
  const steps: readonly (readonly [string, Step])[] = [
    ["start-system-namespaces-controller", namespaces],
    ["bootstrap-controller", once((signal) => publishService(options, namespaces, signal))],
    [
      "scheduling/bootstrap-system-priority-classes",
      once((signal) => ensureAll(options, systemPriorityClasses(serves), signal)),
    ],
    ["priority-and-fairness-config-producer", once((signal) => ensureAll(options, flowControl(serves), signal))],
    [
      "start-kubernetes-service-cidr-controller",
      once((signal) => ensureAll(options, defaultServiceCidr(serves, options.serviceCidr), signal)),
    ],
  ];
  const startAll = (signal: AbortSignal): void => {
    // The hook whose step it is reports a failure.
    for (const [, step] of steps) step(signal).catch(() => undefined);
  };
  return steps.map(([name, step]) => ({
    name,
    run(signal) {
      startAll(signal);
      return step(signal);
    },
  }));
}

async function publishService(options: BootstrapOptions, namespaces: Step, signal: AbortSignal): Promise<void> {
  const { published, catalogue } = options;
  if (published === undefined) return;
  const [listening] = await Promise.all([unlessAborted(published.announced, signal), namespaces(signal)]);
  if (listening === undefined || signal.aborted) return;
  const { clusterIp, address } = published;
  const port = Number(listening.slice(listening.lastIndexOf(":") + 1));
  await ensureAll(options, kubernetesService(servedVersions(catalogue), { clusterIp, address, port }), signal);
}

/** Undefined when the signal aborts first. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
    promise.then(resolve, reject);
  });
}

/** However often it is asked for, it happens once. */
function once(step: Step): Step {
  let running: Promise<void> | undefined;
  return (signal) => (running ??= step(signal));
}
