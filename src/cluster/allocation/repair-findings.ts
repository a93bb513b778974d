/**
 * The findings of a repair about the numbers of Services. Each becomes an Event of a Service or of an IPAddress, with
 * kube-apiserver's reason and note.
 */
import { canonicalIp, familyOf } from "../../meta/ip-address.ts";
import type { Entry } from "../../storage/watch-cache/entry.ts";
import type { Bitmap } from "./bitmap.ts";
import type { NumberRange } from "./number-range.ts";
import { numbersOf, type ServiceNumbers } from "./stored-services.ts";

type Problem = "not-allocated" | "duplicate" | "out-of-range" | "invalid" | "leaked";

export interface Finding {
  readonly problem: Problem;
  readonly number: string;
  /** The Service that has the number, or the IPAddress that is deleted. */
  readonly subject: Entry;
  readonly reason: string;
  readonly action: string;
  readonly note: string;
}

/** Creates the findings of one kind of record. */
export type Describe = (problem: Exclude<Problem, "invalid" | "leaked">, number: string, subject: Entry) => Finding;

export function describePort({ text }: NumberRange): Describe {
  const words = {
    "not-allocated": ["PortNotAllocated", "is not allocated; repairing"],
    duplicate: ["PortAlreadyAllocated", "was assigned to multiple services; please recreate service"],
    "out-of-range": ["PortOutOfRange", `is not within the port range ${text}; please recreate service`],
  } as const;
  return (problem, number, subject) => {
    const [reason, rest] = words[problem];
    return { problem, number, subject, reason, action: "PortAllocation", note: `Port ${number} ${rest}` };
  };
}

/** As a release that records cluster IPs only in the bitmap. */
export function describeBit({ text }: NumberRange): Describe {
  return (problem, number, subject) => {
    const note = ipWords(problem, `is not within the service CIDR ${text}; please recreate service`);
    return ipFinding(problem, { number, subject, note: `Cluster IP [${familyOf(number)}]:${number} ${note}` });
  };
}

/** As a release that records cluster IPs in IPAddress objects. */
export const describeAddress: Describe = (problem, number, subject) => {
  const note = ipWords(problem, "is not within any configured Service CIDR; please recreate service");
  // As kubernetes: this one note has no space after the colon.
  const separator = problem === "duplicate" ? ":" : ": ";
  return ipFinding(problem, { number, subject, note: `Cluster IP [${familyOf(number)}]${separator}${number} ${note}` });
};

const IP_REASONS = {
  "not-allocated": "ClusterIPNotAllocated",
  duplicate: "ClusterIPAlreadyAllocated",
  "out-of-range": "ClusterIPOutOfRange",
} as const;

function ipWords(problem: keyof typeof IP_REASONS, outOfRange: string): string {
  if (problem === "out-of-range") return outOfRange;
  return problem === "duplicate"
    ? "was assigned to multiple services; please recreate service"
    : "is not allocated; repairing";
}

function ipFinding(problem: keyof typeof IP_REASONS, rest: Pick<Finding, "number" | "subject" | "note">): Finding {
  return { problem, ...rest, reason: IP_REASONS[problem], action: "ClusterIPAllocation" };
}

/** The IPAddress of a Service names another owner. */
export function wrongOwner(number: string, subject: Entry): Finding {
  const { namespace, name } = numbersOf(subject).owner;
  const of = `the ClusterIP [${familyOf(number)}]: ${number} for Service ${namespace}/${name}`;
  return ipFinding("not-allocated", { number, subject, note: `${of} has a wrong reference; repairing` });
}

/** An IPAddress without its Service, or that does not name a Service. */
export function leakedAddress(
  subject: Entry,
  number: string,
  owner: { readonly namespace: string; readonly name: string; readonly isStored: boolean } | undefined,
): Finding {
  const rest = { problem: "leaked", number, subject, action: "IPAddressAllocation" } as const;
  if (owner === undefined) {
    const note = `IPAddress ${number} appears to have been modified, not referencing a Service: cleaning up`;
    return { ...rest, reason: "IPAddressNotAllocated", note };
  }
  const of = `IPAddress: ${number} for Service ${owner.namespace}/${owner.name}`;
  return owner.isStored
    ? { ...rest, reason: "IPAddressWrongReference", note: `${of} has a wrong reference; cleaning up` }
    : { ...rest, reason: "IPAddressNotAllocated", note: `${of} appears to have leaked: cleaning up` };
}

/** Cluster IPs that are no addresses, or of a family that is not configured. */
export function invalidIps(services: readonly Entry[], families: readonly string[]): Finding[] {
  return services.flatMap((subject) =>
    numbersOf(subject).ips.flatMap((number) => {
      const note = whyInvalid(number, families);
      if (note === undefined) return [];
      return [
        { problem: "invalid", number, subject, reason: "ClusterIPNotValid", action: "ClusterIPValidation", note },
      ];
    }),
  );
}

function whyInvalid(ip: string, families: readonly string[]): string | undefined {
  const family = familyOf(ip);
  if (canonicalIp(ip) === undefined || family === undefined)
    return `Cluster IP ${ip} is not a valid IP; please recreate service`;
  if (families.includes(family)) return undefined;
  return `Cluster IP ${ip}(${family}) is of ip family that is no longer configured on cluster; please recreate service`;
}

interface RecordState {
  readonly services: readonly Entry[];
  readonly range: NumberRange;
  /** The bitmap before the repair; undefined if there was none, so that no number can be missing. */
  readonly allocated: Bitmap | undefined;
  readonly numbersIn: (service: ServiceNumbers) => readonly string[];
  readonly describe: Describe;
}

/** The findings about a bitmap, in the order of the Services. */
export function recordFindings({ services, range, allocated, numbersIn, describe }: RecordState): Finding[] {
  const seen = new Set<number>();
  return services.flatMap((subject) =>
    numbersIn(numbersOf(subject)).flatMap((number) => {
      const index = range.indexOf(number);
      if (index === undefined) return [describe("out-of-range", number, subject)];
      if (seen.has(index)) return [describe("duplicate", number, subject)];
      seen.add(index);
      return allocated?.has(index) === false ? [describe("not-allocated", number, subject)] : [];
    }),
  );
}
