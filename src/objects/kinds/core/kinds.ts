/** Lists the kinds of the core group, except pods and storage. */
import type { KindEntry } from "../kind.ts";
import { CONFIG_MAP } from "./config-map.ts";
import { ENDPOINTS } from "./endpoints.ts";
import { EVENT, EVENTS_GROUP_EVENT } from "./events/event.ts";
import { LIMIT_RANGE } from "./limit-range.ts";
import { NAMESPACE } from "./namespace.ts";
import { NODE } from "./nodes/node.ts";
import { RESOURCE_QUOTA } from "./resource-quota.ts";
import { SECRET } from "./secret.ts";
import { SERVICE_ACCOUNT } from "./service-account.ts";
import { SERVICE } from "./services/service.ts";

export const CORE_KINDS: readonly KindEntry[] = [
  ["/ConfigMap", CONFIG_MAP],
  ["/Endpoints", ENDPOINTS],
  ["/Event", EVENT],
  ["/LimitRange", LIMIT_RANGE],
  ["/Namespace", NAMESPACE],
  ["/Node", NODE],
  ["/ResourceQuota", RESOURCE_QUOTA],
  ["/Secret", SECRET],
  ["/Service", SERVICE],
  ["/ServiceAccount", SERVICE_ACCOUNT],
  ["events.k8s.io/Event", EVENTS_GROUP_EVENT],
];
