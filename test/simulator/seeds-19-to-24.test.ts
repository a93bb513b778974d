import { testSeeds } from "./seeds.ts";

testSeeds(19, 24);
