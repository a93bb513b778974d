/** Plays an upgrade plan once: starts the cluster, its clients and its faults, and creates the report of this run. */
import { noFalse404 } from "../simulator/checkers/no-false-404.ts";
import type { Run } from "../simulator/server.ts";
import { fillAndDelete, ownAndDelete, type WorkCounts, type ControllerWorkOptions } from "./controller-work.ts";
import { InformerClient } from "./informers.ts";
import { KubectlClient } from "./kubectl-client.ts";
import { Ledger, type LedgerEntry } from "./ledger.ts";
import { repeatWork, type LoadContext } from "./load.ts";
import type { JsonObject } from "../../meta/json.ts";
import { createDefinitions } from "./create-definitions.ts";
import type { UpgradePlan } from "./plan.ts";
import { Recorder } from "./recorder.ts";
import type { PlayedFault, RunReport } from "./report.ts";
import { Roll } from "./roll.ts";
import { pathOfEntry, Session } from "./session.ts";
import { hasDepartedResource, servesAnyVersion, type ServerRun, type RehearsalStage } from "./stage.ts";
import { StoreWatch } from "./store-watch.ts";
import type { LoadTarget } from "./targets.ts";
import { isKubernetes, type RehearsalSubject } from "./subject.ts";
import { createRehearsalTransport } from "./transport.ts";

interface PlayOptions {
  readonly plan: UpgradePlan;
  readonly subject: RehearsalSubject;
  /** Opens a new cluster for this run; it is closed afterwards. */
  readonly openStage: (onFailure: (thrown: unknown) => void) => Promise<RehearsalStage>;
  readonly targets: readonly LoadTarget[];
  /** The CRDs of the custom resources among the targets. */
  readonly crds: readonly JsonObject[];
  /** Called with the elapsed milliseconds. */
  readonly onProgress?: (passedMs: number) => void;
}

const KUBECTL_CLIENTS = 4;
const KUBECTL_PACE_MS = 1_500;
const OWNER_PACE_MS = 10_000;
const NAMESPACE_PACE_MS = 20_000;
/**
 * Maximum lifetime of owners and namespaces as a share of the plan's duration, so that some of them exist during
 * several steps of a long plan.
 */
const REST_SHARE = 0.1;
const CHECK_EVERY_MS = 5_000;
/** Maximum time for controllers to finish their work after all clients have stopped. */
const TIDY_MS_MAX = 30_000;
const TIDY_SHARE = 0.25;
const FAULTS_LISTED_MAX = 500;
const FAILURES_MAX = 20;

export async function play(options: PlayOptions): Promise<RunReport> {
  const failures: string[] = [];
  const onFailure = (thrown: unknown): void => {
    if (failures.length >= FAILURES_MAX) return;
    failures.push(thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown));
  };
  const stage = await options.openStage(onFailure);
  const playing = new Playing(stage, options, onFailure);
  try {
    await playing.play();
  } catch (thrown) {
    onFailure(thrown);
  } finally {
    await stage.close();
  }
  return { ...playing.report(), failures };
}

class Playing {
  readonly #stage: RehearsalStage;
  readonly #options: PlayOptions;
  readonly #onFailure: (thrown: unknown) => void;
  readonly #ledger = new Ledger();
  readonly #recorder: Recorder;
  readonly #store: StoreWatch;
  readonly #roll: Roll;
  readonly #context: LoadContext;
  readonly #informers: InformerClient[] = [];
  readonly #faults: PlayedFault[] = [];
  readonly #counts: WorkCounts = { ownersDeleted: 0, namespacesDeleted: 0 };
  readonly #end = new AbortController();
  /** The targets that the servers serve. */
  readonly #targets: LoadTarget[];
  readonly #notes: string[] = [];
  #made = 0;
  #left: readonly LedgerEntry[] = [];

  constructor(stage: RehearsalStage, options: PlayOptions, onFailure: (thrown: unknown) => void) {
    const { plan, targets } = options;
    const { clock, serverRuns, history, timing } = stage;
    this.#stage = stage;
    this.#options = options;
    this.#targets = [...targets];
    this.#onFailure = onFailure;
    // The checker is written for simulated runs, but reads only fields that every server run has.
    const truth = {
      ledger: this.#ledger,
      serverRuns,
      isCustom: (of: Pick<LedgerEntry, "group" | "resource">) => this.#isCustom(of),
      noFalse404: noFalse404({ ...timing, runs: serverRuns as readonly Run[] }),
    };
    const { durationMs, serverIds } = plan;
    this.#recorder = new Recorder({ clock, truth, durationMs, serverIds });
    this.#store = new StoreWatch({
      history,
      ledger: this.#ledger,
      recorder: this.#recorder,
      serverRuns,
      isAgreed: !isKubernetes(options.subject),
      customPrefixes: targets
        .filter(({ isCustom, namespaced }) => isCustom && namespaced)
        .map(({ storagePrefix }) => storagePrefix),
    });
    const sinceStart = (stageMs: number): number => this.#recorder.sinceStart(stageMs);
    this.#roll = new Roll({ stage, plan, sinceStart, onFailure });
    this.#context = {
      clock,
      ledger: this.#ledger,
      targets: this.#targets,
      onFailure,
      isServed: (target, version) =>
        target.isCustom || this.#living().some(({ served }) => served.has({ ...target, version, subresource: "" })),
    };
  }

  async play(): Promise<void> {
    const { plan, onProgress = () => {} } = this.#options;
    await this.#stage.begin();
    await this.#createDefinitions();
    this.#recorder.start();
    this.#startClients();
    this.#roll.schedule();
    this.#stage.startFaults((what) => {
      if (this.#faults.length < FAULTS_LISTED_MAX) this.#faults.push({ atMs: this.#recorder.nowMs(), what });
    });
    let isSettling = false;
    for (let passedMs = 0; passedMs < plan.durationMs; passedMs += CHECK_EVERY_MS) {
      onProgress(passedMs);
      if (!isSettling && passedMs >= plan.settleAtMs) {
        isSettling = true;
        this.#stage.endFaults();
      }
      await this.#stage.pass(Math.min(CHECK_EVERY_MS, plan.durationMs - passedMs));
      for (const informer of this.#informers) informer.check();
    }
    this.#end.abort();
    await this.#stage.pass(Math.min(TIDY_MS_MAX, plan.durationMs * TIDY_SHARE));
    await this.#readEverything();
    this.#store.checkAll();
    const living = this.#living();
    const isServed = (entry: Pick<LedgerEntry, "group" | "resource">): boolean =>
      this.#isCustom(entry) || living.some((run) => servesAnyVersion(run, entry));
    this.#left = this.#store.leftBehind(isServed);
    const { departedGraceMs } = this.#stage.timing;
    // Within the grace period, controllers correctly wait for resources that only a departed server served.
    if (!hasDepartedResource(this.#stage.serverRuns, this.#stage.clock.monotonic() - departedGraceMs))
      this.#store.checkLeftBehind(this.#left);
    onProgress(plan.durationMs);
  }

  report(): Omit<RunReport, "failures"> {
    const left = this.#left;
    return {
      subject: this.#options.subject,
      ...this.#recorder.report(),
      steps: this.#roll.played(),
      storage: this.#store.lanes(),
      faults: this.#faults,
      notes: this.#notes,
      work: {
        objectsMade: this.#made,
        objectsKept: this.#ledger.all().filter(({ state }) => state === "there").length,
        ...this.#counts,
        namespacesLeft: left.filter(({ resource }) => resource === "namespaces").length,
        objectsLeft: left.filter(({ resource }) => resource !== "namespaces").length,
      },
    };
  }

  /** Creates the CRDs, and removes the targets whose CRD is not served. */
  async #createDefinitions(): Promise<void> {
    const problems = await createDefinitions(this.#stage, this.#options.crds);
    for (const [name, problem] of problems) {
      this.#notes.push(`${name} was not used: ${problem}`);
      const index = this.#targets.findIndex(({ group, resource }) => `${resource}.${group}` === name);
      if (index >= 0) this.#targets.splice(index, 1);
    }
  }

  #startClients(): void {
    const { signal } = this.#end;
    const { serverIds } = this.#options.plan;
    for (let index = 1; index <= KUBECTL_CLIENTS; index++) {
      const session = this.#session(`kubectl-${index}`, undefined);
      const client = new KubectlClient(this.#context, session);
      void repeatWork(this.#context, session, { paceMs: KUBECTL_PACE_MS, signal }, () => client.once());
    }
    this.#startWork("owner", OWNER_PACE_MS, ownAndDelete);
    this.#startWork("namespace", NAMESPACE_PACE_MS, fillAndDelete);
    const followed = this.#targets.flatMap((target) => target.versions.map((version) => ({ target, version })));
    followed.forEach(({ target, version }, index) => {
      const session = this.#session(`informer-${index + 1}`, serverIds[index % serverIds.length]);
      const { ledger, recorder } = { ledger: this.#ledger, recorder: this.#recorder };
      const informer = new InformerClient({ session, target, version, ledger, recorder });
      this.#informers.push(informer);
      informer.run(signal).catch(this.#onFailure);
    });
  }

  /** Repeats work for the controllers. Each repetition takes a while, so several run concurrently. */
  #startWork(
    name: string,
    paceMs: number,
    work: (options: ControllerWorkOptions, number: number, signal: AbortSignal) => Promise<void>,
  ): void {
    const { signal } = this.#end;
    const session = this.#session(name, undefined);
    const restMsMax = this.#options.plan.durationMs * REST_SHARE;
    const options: ControllerWorkOptions = { context: this.#context, session, counts: this.#counts, restMsMax };
    let number = 0;
    void repeatWork(this.#context, session, { paceMs, signal }, () => {
      work(options, ++number, signal).catch(this.#onFailure);
      return Promise.resolve();
    });
  }

  #session(name: string, home: string | undefined): Session {
    const stage = this.#stage;
    const random = stage.randomFor(name);
    const transport = createRehearsalTransport({
      stage,
      random,
      client: name,
      home,
      onResponse: (response) => {
        if (response.status === 201) this.#made++;
        this.#recorder.answered(response);
      },
      onNoResponse: () => this.#recorder.unanswered(),
    });
    const { ledger, recorder } = { ledger: this.#ledger, recorder: this.#recorder };
    return new Session({ name, transport, clock: stage.clock, random, ledger, recorder });
  }

  #isCustom({ group, resource }: Pick<LedgerEntry, "group" | "resource">): boolean {
    return this.#targets.some((target) => target.isCustom && target.group === group && target.resource === resource);
  }

  #living(): readonly ServerRun[] {
    return this.#stage.serverRuns.filter(({ endedAtMs }) => endedAtMs === undefined);
  }

  /** Reads every acknowledged object of a served resource through every server. */
  async #readEverything(): Promise<void> {
    for (const { serverId } of this.#living()) {
      const session = this.#session(`last-look-${serverId}`, serverId);
      for (const target of this.#targets) {
        const version = target.versions.findLast((one) => this.#context.isServed(target, one));
        if (version === undefined) continue;
        for (const entry of this.#ledger.present(target))
          await this.#stage.until(session.request("GET", pathOfEntry(entry, target, version)));
      }
    }
  }
}
