/** What every part that waits, chooses at random or logs receives: the undetermined world, without transports or stores. */
import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";
import type { Random } from "./random.ts";

export interface BaseEnv {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}
