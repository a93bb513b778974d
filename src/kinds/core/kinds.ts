/** Namespaces, Services, nodes, and what else the core group has beside pods and storage. */
import type { KindEntry } from "../kind.ts";
import { CONFIG_MAP, SECRET } from "./config-data.ts";
import { NAMESPACE } from "./namespace.ts";
import { SERVICE } from "./services/service.ts";

export const CORE_KINDS: readonly KindEntry[] = [
  ["/ConfigMap", CONFIG_MAP],
  ["/Secret", SECRET],
  ["/Namespace", NAMESPACE],
  ["/Service", SERVICE],
];
