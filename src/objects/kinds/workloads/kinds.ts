/** Lists the kinds of workloads, autoscaling, disruption budgets and priorities. */
import type { KindEntry } from "../kind.ts";
import { AUTOSCALER, AUTOSCALER_V1 } from "./autoscaler.ts";
import { CONTROLLER_REVISION } from "./controller-revision.ts";
import { CRON_JOB } from "./cron-job.ts";
import { DAEMON_SET } from "./daemon-set.ts";
import { DEPLOYMENT } from "./deployment.ts";
import { DISRUPTION_BUDGET } from "./disruption-budget.ts";
import { JOB } from "./job.ts";
import { podGroupOf } from "./pod-group.ts";
import { PRIORITY_CLASS } from "./priority-class.ts";
import { REPLICA_SET } from "./replica-set.ts";
import { REPLICATION_CONTROLLER } from "./replication-controller.ts";
import { STATEFUL_SET } from "./stateful-set.ts";

export const WORKLOAD_KINDS: readonly KindEntry[] = [
  ["/ReplicationController", REPLICATION_CONTROLLER],
  ["apps/ControllerRevision", CONTROLLER_REVISION],
  ["apps/DaemonSet", DAEMON_SET],
  ["apps/Deployment", DEPLOYMENT],
  ["apps/ReplicaSet", REPLICA_SET],
  ["apps/StatefulSet", STATEFUL_SET],
  ["autoscaling/v1/HorizontalPodAutoscaler", AUTOSCALER_V1],
  ["autoscaling/HorizontalPodAutoscaler", AUTOSCALER],
  ["batch/CronJob", CRON_JOB],
  ["batch/Job", JOB],
  ["policy/PodDisruptionBudget", DISRUPTION_BUDGET],
  ["scheduling.k8s.io/PriorityClass", PRIORITY_CLASS],
  ["scheduling.k8s.io/PodGroup", podGroupOf({ single: {} })],
  ["scheduling.k8s.io/v1alpha2/PodGroup", podGroupOf("Pod")],
];
