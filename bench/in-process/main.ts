/** Does one measurement after the other, as it is asked. */
import { measureFilter } from "./filter.ts";
import { measureMerge } from "./merge.ts";
import type { Measurement } from "./protocol.ts";

process.on("message", (measurement: Measurement) => {
  process.send!(measurement.kind === "filter" ? measureFilter(measurement) : measureMerge(measurement));
});
process.on("disconnect", () => process.exit(0));
