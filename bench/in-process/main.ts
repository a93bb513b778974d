/** The process of the in-process measurements: runs those that it receives over IPC, one after the other. */
import { measureEncryption } from "./encryption.ts";
import { measureDefaults } from "./defaults.ts";
import { measureFilter } from "./filter.ts";
import { measureIfReady } from "./if-ready.ts";
import { measureMerge } from "./merge.ts";
import type { Measurement } from "./protocol.ts";

process.on("message", (measurement: Measurement) => {
  void Promise.resolve(measured(measurement)).then((samples) => process.send!(samples));
});
process.on("disconnect", () => process.exit(0));

function measured(measurement: Measurement): unknown {
  switch (measurement.kind) {
    case "filter":
      return measureFilter(measurement);
    case "encryption":
      return measureEncryption(measurement);
    case "if-ready":
      return measureIfReady(measurement);
    case "defaults":
      return measureDefaults(measurement);
    case "merge":
      return measureMerge(measurement);
  }
}
