/** The ports through which reviews call authentication, authorization and admission. */
import type { Clock } from "../../../base/clock.ts";
import type { RequestInfo } from "../../http/request-info.ts";
import type { GroupVersion } from "../../../meta/group-version.ts";
import type { ProtobufTables } from "../../../objects/protobuf/decode.ts";
import type { StructSchema } from "../../../objects/schema.ts";
import type { Admission } from "../../registry/admission.ts";
import type { RequestUser } from "../../registry/create.ts";
import type { WithRequester } from "../endpoint.ts";
import type { RequestAdmission } from "../resources.ts";
import type { ReleaseGates } from "../../../objects/release-gates.ts";

export type ReviewedAccess = Pick<
  RequestInfo,
  "isResourceRequest" | "verb" | "group" | "version" | "namespace" | "resource" | "subresource" | "name" | "path"
>;

export interface ReviewedDecision {
  readonly allowed: boolean;
  readonly reason: string;
}

export interface ReviewedRules {
  readonly resourceRules: readonly {
    readonly verbs: readonly string[];
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly resourceNames?: readonly string[];
  }[];
  readonly nonResourceRules: readonly {
    readonly verbs: readonly string[];
    readonly nonResourceURLs: readonly string[];
  }[];
  readonly incomplete: boolean;
  readonly evaluationError: string;
}

export type ReviewedToken =
  | { readonly user: RequestUser; readonly audiences: readonly string[] }
  | "unknown"
  | { readonly error: string };

export interface ReviewPorts<Req extends WithRequester> {
  readonly clock: Clock;
  readonly gates: ReleaseGates;
  /** Returns the schema of any kind of the release. */
  readonly schemaOf: (groupVersion: GroupVersion, kind: string) => StructSchema | undefined;
  readonly protobuf: () => ProtobufTables;
  readonly authorize: (
    user: RequestUser,
    asked: ReviewedAccess,
    signal: AbortSignal,
  ) => ReviewedDecision | Promise<ReviewedDecision>;
  readonly rulesFor: (user: RequestUser, namespace: string) => ReviewedRules;
  readonly authenticateToken: (token: string, audiences: readonly string[]) => ReviewedToken | Promise<ReviewedToken>;
  /** The audiences of a token review without audiences. */
  readonly apiAudiences: readonly string[];
  /** Returns the admission of the created review. Absent if no admission plugin runs. */
  readonly admit?: ((request: Req, about: RequestAdmission) => Admission | undefined) | undefined;
}
