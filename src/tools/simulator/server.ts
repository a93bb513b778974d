/** A server of a simulated cluster: it keeps its ID and address over any number of starts, crashes and restarts. */
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import {
  callInProcess,
  createInProcessTransport,
  type InProcessRequest,
  type InProcessResponse,
} from "../../client/in-process.ts";
import type { Transport } from "../../client/transport.ts";
import type { DiscoveryGroup } from "../../serving/discovery/groups.ts";
import { localGroups } from "../../serving/discovery/local.ts";
import type { ApiRequest, ApiResponse } from "../../serving/http/message.ts";
import type { UpstreamAddress } from "../../serving/http/upstream.ts";
import { createServedSet, type ServedSet } from "../../cluster/peers/served-set.ts";
import type { PeerTiming } from "../../cluster/peers/timing.ts";
import { buildServer, type Server } from "../../server/build-server.ts";
import { resolveOptions, type ServerOptions } from "../../server/config.ts";
import type { RoutingOptions } from "../../cluster/peers/peer-config.ts";
import type { Kv } from "../../storage/kv.ts";
import { STORE_ROOT, type StoreHistory } from "./history.ts";
import { Host } from "./host.ts";
import type { Network } from "./network.ts";
import type { PeerCertificate } from "./peer-certificate.ts";
import { SimulatedTasks } from "./task-faults.ts";
import { StoreLink, type InjectedCrash, type StoreFault } from "./store-link.ts";
import type { Trace } from "./trace.ts";
import type { World } from "./world.ts";

export interface RunOptions {
  readonly release: string;
  readonly runtimeConfig?: readonly string[];
  readonly clockOffsetMs?: number;
  readonly clockDrift?: number;
  /** If false, the server proxies no requests. Default: true. */
  readonly mixedVersionProxy?: boolean;
  /** Peer options that differ from the defaults. */
  readonly peers?: RoutingOptions;
  /** Controllers to run, as in the flag --controllers. Default: all. */
  readonly controllers?: readonly string[];
  /** Serves exactly the defaults of the release, as the flag --strict-release. Default: false. */
  readonly strictRelease?: boolean;
  /** As the flag --feature-gates. */
  readonly featureGates?: readonly string[];
  /** Wraps the store of this run, so that the server behaves like another implementation. */
  readonly wrapKv?: (kv: Kv) => Kv;
  /** Wraps the handler of this run, as `wrapKv` does the store. */
  readonly wrapHandle?: (handle: Handle) => Handle;
}

/**
 * The truth about one run of a server: the resources that it served, and when it was running, by the clock of the
 * world.
 */
export interface Run {
  readonly serverId: string;
  readonly release: string;
  readonly host: Host;
  readonly store: StoreLink;
  readonly tasks: SimulatedTasks;
  readonly groups: readonly DiscoveryGroup[];
  readonly served: ServedSet;
  readonly server: Server;
  /** Time at which it was ready first; undefined until then. */
  readyAtMs: number | undefined;
  /** Time of its crash or stop request. */
  endedAtMs: number | undefined;
  /**
   * Time until which the server counts as unhealthy, because it is paused, has store faults, or peers may not have
   * detected that these have ended.
   */
  troubledUntilMs: number;
  /** Time since which the server is paused or has store faults; undefined while it is neither. */
  troubledSinceMs: number | undefined;
}

export type Handle = (request: ApiRequest) => Promise<ApiResponse>;

export interface ServerContext {
  readonly world: World;
  readonly history: StoreHistory;
  readonly network: Network;
  readonly certificate: PeerCertificate;
  readonly trace: Trace;
  readonly timing: Partial<PeerTiming>;
  readonly onRun: (run: Run) => void;
  /** Tests plant bugs with these functions: each wraps a part of the server that has the given ID. */
  readonly wrapHandle?: (handle: Handle, serverId: string) => Handle;
  readonly wrapKv?: (kv: Kv, serverId: string) => Kv;
  readonly wrapClock?: (clock: Clock) => Clock;
}

/** A crash at a certain commit, a moment that random faults would hardly hit. */
export interface CrashPoint {
  /** Description of the matching keys, for the trace. */
  readonly what: string;
  readonly matches: (key: string) => boolean;
  /** Number of matching changes before the crash. */
  readonly skip: number;
  readonly side: InjectedCrash["side"];
  readonly onCrash: () => void;
}

/** Peers detect within this time that a server is reachable again. */
const DETECTED_WITHIN_MS = 30_000;
/** Time for open requests after a stop request, in virtual time. */
const DRAIN_MS = 5_000;
const PORT = 6443;
/**
 * Options without authorization: simulations do not test access, so servers need no roles, and pods no service
 * accounts.
 */
const OPEN = {
  authorizationModes: ["AlwaysAllow"],
  disableAdmissionPlugins: ["ServiceAccount"],
} as const satisfies ServerOptions["access"];

const TOKEN = "simulated";

export class SimulatedServer {
  readonly id: string;
  readonly address: UpstreamAddress;
  readonly #context: ServerContext;
  #runs = 0;
  #run: Run | undefined;
  #handle: Handle | undefined;
  #crashPoint: CrashPoint | undefined;

  constructor(context: ServerContext, options: { readonly id: string; readonly ip: string }) {
    this.#context = context;
    this.id = options.id;
    this.address = { host: options.ip, port: PORT };
  }

  /** The current run; undefined while the server is down. */
  get run(): Run | undefined {
    return this.#run;
  }

  get isReady(): boolean {
    return this.#run?.readyAtMs !== undefined;
  }

  /** Starts a run. Resolves when the server is listening, before it is ready. */
  async start(options: RunOptions): Promise<Run> {
    const { world, history, network, trace, onRun, wrapHandle = (handle): Handle => handle } = this.#context;
    const {
      clockOffsetMs: offsetMs = 0,
      clockDrift: drift = 0,
      wrapHandle: wrapRun = (handle): Handle => handle,
    } = options;
    const name = `${this.id}#${++this.#runs}`;
    const host = new Host({ name, clock: world.countingClock, random: world.randomFor(name), offsetMs, drift });
    const writer = { serverId: this.id, host };
    const store = new StoreLink({
      kv: world.openKv(),
      writer,
      history,
      injectCrash: (key) => this.#injectCrash(host, key),
    });
    const what = [`release ${options.release}`, ...(options.runtimeConfig ?? []), `clock ${offsetMs} ms`];
    trace.add(this.id, `starts: ${what.join(", ")}`);
    const tasks = new SimulatedTasks(host);
    const server = await buildServer(this.#envOf({ host, store, tasks }, options), this.#configOf(options));
    const groups = localGroups(server.catalog);
    const run: Run = {
      serverId: this.id,
      release: options.release,
      host,
      store,
      tasks,
      groups,
      served: createServedSet(groups),
      server,
      readyAtMs: undefined,
      endedAtMs: undefined,
      troubledUntilMs: 0,
      troubledSinceMs: undefined,
    };
    this.#run = run;
    this.#handle = wrapHandle(wrapRun(server.handle), this.id);
    network.listen(this.address, this.id, { name: this.id, host, handle: this.#handle });
    server.announce(`${this.address.host}:${this.address.port}`);
    void server.ready.then(() => {
      if (host.state === "dead" || run.endedAtMs !== undefined) return;
      run.readyAtMs = world.clock.monotonic();
      trace.add(this.id, "is ready");
    });
    onRun(run);
    return run;
  }

  /** Behaves like kill -9. */
  crash(): void {
    const run = this.#end("crashes");
    run?.host.kill();
  }

  /** Sets a crash point for this or a later run; undefined removes it. */
  crashAt(point: CrashPoint | undefined): void {
    this.#crashPoint = point;
  }

  /** Behaves like SIGTERM. Resolves when the process has ended. */
  async stop(): Promise<void> {
    const { network, trace } = this.#context;
    const run = this.#run;
    if (run === undefined || run.endedAtMs !== undefined) return;
    trace.add(this.id, "receives a stop request");
    run.endedAtMs = this.#context.world.clock.monotonic();
    await run.server.beginShutdown();
    network.listen(this.address, this.id, undefined);
    await run.server.drain(DRAIN_MS);
    await run.server.close();
    run.host.kill();
    if (this.#run === run) this.#run = undefined;
    trace.add(this.id, "has stopped");
  }

  pause(): void {
    this.#context.trace.add(this.id, "is paused");
    this.#run?.host.pause();
    this.#noteTrouble();
  }

  /** Behaves like a suspended machine: no time passes for its monotonic clock and its timers. */
  suspend(): void {
    this.#context.trace.add(this.id, "is suspended");
    this.#run?.host.suspend();
    this.#noteTrouble();
  }

  resume(): void {
    const state = this.#run?.host.state;
    if (state === "paused" || state === "suspended") this.#context.trace.add(this.id, "is resumed");
    this.#run?.host.resume();
    this.#noteTrouble();
  }

  /**
   * Makes a background task of the server throw now, such as "identity-lease". Returns false if no such task is running.
   * A task that may not fail ends the server.
   */
  failTask(name: string): boolean {
    const run = this.#run;
    if (run === undefined || !run.tasks.fail(name)) return false;
    const { trace, world } = this.#context;
    trace.add(this.id, `the task ${name} fails`);
    run.troubledUntilMs = Math.max(run.troubledUntilMs, world.clock.monotonic() + DETECTED_WITHIN_MS);
    return true;
  }

  setStoreFault(fault: StoreFault): void {
    this.#context.trace.add(this.id, `the store: ${JSON.stringify(fault)}`);
    this.#run?.store.setFault(fault);
    this.#noteTrouble();
  }

  /** Sends the request of a user with a token. Never settles if the server crashes before it responds. */
  request(request: InProcessRequest): Promise<InProcessResponse> {
    const handle = this.#userHandle();
    if (handle === undefined) return Promise.reject(new Error(`${this.id} is down`));
    return callInProcess(handle, request);
  }

  /** A transport to the current run, for a client with a token. Its requests never settle after a crash. */
  transport(): Transport {
    return createInProcessTransport(this.#userHandle() ?? (() => new Promise(() => {})));
  }

  /** Handles the requests of a user with a token in the current run; undefined while the server is down. */
  #userHandle(): Handle | undefined {
    const run = this.#run;
    const handle = this.#handle;
    if (run === undefined || handle === undefined) return undefined;
    const withToken = (request: ApiRequest): ApiRequest => ({
      ...request,
      headers: { authorization: `Bearer ${TOKEN}`, ...request.headers },
    });
    return (request) => run.host.settleWhileRunning(() => handle(withToken(request)));
  }

  #injectCrash(host: Host, key: string): InjectedCrash | undefined {
    const point = this.#crashPoint;
    if (point === undefined || this.#run?.host !== host || !point.matches(key.slice(STORE_ROOT.length)))
      return undefined;
    this.#crashPoint = point.skip === 0 ? undefined : { ...point, skip: point.skip - 1 };
    if (point.skip > 0) return undefined;
    return {
      side: point.side,
      crash: () => {
        this.#context.trace.add(this.id, `${point.side} a change of ${point.what}`);
        this.crash();
        point.onCrash();
      },
    };
  }

  #noteTrouble(): void {
    const run = this.#run;
    // Faults that are set after the end of a run do not change its state.
    if (run === undefined || run.endedAtMs !== undefined) return;
    const isWell = run.host.state === "running" && run.store.isFine;
    const nowMs = this.#context.world.clock.monotonic();
    run.troubledUntilMs = isWell ? nowMs + DETECTED_WITHIN_MS : Infinity;
    run.troubledSinceMs = isWell ? undefined : (run.troubledSinceMs ?? nowMs);
  }

  #end(how: string): Run | undefined {
    const run = this.#run;
    if (run === undefined) return undefined;
    const { network, trace, world } = this.#context;
    trace.add(this.id, how);
    run.endedAtMs ??= world.clock.monotonic();
    this.#run = undefined;
    this.#handle = undefined;
    network.listen(this.address, this.id, undefined);
    return run;
  }

  #envOf(
    { host, store, tasks }: Pick<Run, "host" | "store" | "tasks">,
    { wrapKv: wrapRun = (kv): Kv => kv }: RunOptions,
  ): Parameters<typeof buildServer>[0] {
    const { world, network, wrapKv = (kv: Kv): Kv => kv, wrapClock = (clock: Clock): Clock => clock } = this.#context;
    const from = { name: this.id, host, ip: this.address.host };
    return {
      ...world.env,
      clock: wrapClock(host.clock),
      random: host.random,
      log: this.#log(),
      openKv: () => Promise.resolve(wrapKv(wrapRun(store), this.id)),
      openUpstream: () => network.openUpstream(from),
      taskFailure: tasks.failureOf,
      onFatal: (because) => {
        if (this.#run?.host === host) this.#end(`ends because ${because}`);
        host.kill();
      },
    };
  }

  #configOf(options: RunOptions): Parameters<typeof buildServer>[1] {
    const { release, runtimeConfig = [], mixedVersionProxy = true, peers, controllers } = options;
    const { strictRelease = false, featureGates = [] } = options;
    const { certificate, timing } = this.#context;
    // The names of these files only enable calls to peers; the simulated network does not read the files.
    const files = mixedVersionProxy ? { caFile: "ca", certFile: "cert", keyFile: "key" } : {};
    return resolveOptions({
      release,
      runtimeConfig,
      strictRelease,
      featureGates: mixedVersionProxy ? featureGates : [...featureGates, "UnknownVersionInteroperabilityProxy=false"],
      storage: { kind: "memory" },
      tokenFile: `${TOKEN},simulated-user,1,system:masters`,
      access: OPEN,
      requestHeader: { clientCa: certificate.authority },
      peers: { hostname: this.id, serverId: this.id, ...files, timing, ...peers },
      ...(controllers && { controllers }),
      advertise: { address: this.address.host },
    });
  }

  #log(): Log {
    const { trace } = this.#context;
    const add: Log["info"] = (message, fields = {}) => {
      const details = Object.entries(fields).map(([key, value]) => ` ${key}=${JSON.stringify(value)}`);
      trace.add(this.id, `logs: ${message}${details.join("")}`.slice(0, 300));
    };
    return { debug: () => {}, info: add, warn: add, error: add };
  }
}
