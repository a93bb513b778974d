/**
 * The sources of nondeterminism that most parts of a server need: time, randomness and the log, without transports or
 * stores.
 */
import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";
import type { Random } from "./random.ts";

export interface BaseEnv {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}
