/**
 * Decides in which records a cluster IP is allocated, from the releases of the live servers:
 *
 * - up to 1.32, kube-apiserver uses only the bitmap `serviceips`;
 * - 1.33 allocates in the bitmap, then creates the IPAddress;
 * - from 1.34 on it creates only the IPAddress.
 *
 * While a server that uses a record is live, every server writes this record.
 */
import type { ReleaseGates } from "../../objects/release-gates.ts";

export interface NumberRecords {
  /** Whether a live server allocates in the bitmap. */
  readonly usesBitmap: boolean;
  /** Whether a live server creates IPAddress objects. */
  readonly usesAddresses: boolean;
  /**
   * Whether a live server allocates only in the bitmap, so that an address whose bit is set is not free. Otherwise the
   * IPAddress decides, and a bit without an IPAddress is left over from a server that does not maintain the bitmap.
   */
  readonly bitmapDecides: boolean;
}

/** `undefined` stands for a server whose release is unknown, which may be any. */
export function numberRecordsOf(releases: readonly (ReleaseGates | undefined)[]): NumberRecords {
  const servers = releases.map(recordsOf);
  return {
    usesBitmap: servers.some(({ usesBitmap }) => usesBitmap),
    usesAddresses: servers.some(({ usesAddresses }) => usesAddresses),
    bitmapDecides: servers.some(({ bitmapDecides }) => bitmapDecides),
  };
}

const ANY: NumberRecords = { usesBitmap: true, usesAddresses: true, bitmapDecides: true };

function recordsOf(gates: ReleaseGates | undefined): NumberRecords {
  if (gates === undefined) return ANY;
  const usesAddresses = gates.isOn("MultiCIDRServiceAllocator");
  return { usesBitmap: !gates.isOn("DisableAllocatorDualWrite"), usesAddresses, bitmapDecides: !usesAddresses };
}

/** The records in use, with what a repair must do before a stricter rule may end. */
export interface RecordsInUse {
  current(): NumberRecords;
  /** Called when a repair begins. The returned function is called after it has succeeded. */
  repairing(): () => void;
  /** Whether the records have changed since the last repair. */
  isRepairDue(): boolean;
}

/**
 * The bitmap decides until a repair has created the IPAddress of every Service after the last server left that creates
 * none.
 */
export function createRecordsInUse(live: () => NumberRecords): RecordsInUse {
  let repaired: NumberRecords = { usesBitmap: false, usesAddresses: false, bitmapDecides: true };
  const current = (): NumberRecords => {
    const now = live();
    const bitmapDecides = now.bitmapDecides || (repaired.bitmapDecides && now.usesBitmap);
    return { ...now, bitmapDecides };
  };
  return {
    current,
    repairing() {
      const at = live();
      return () => (repaired = at);
    },
    isRepairDue() {
      const now = live();
      return (
        now.usesBitmap !== repaired.usesBitmap ||
        now.usesAddresses !== repaired.usesAddresses ||
        now.bitmapDecides !== repaired.bitmapDecides
      );
    },
  };
}
