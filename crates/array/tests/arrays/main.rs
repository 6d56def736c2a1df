//! Whole arrays, as hosts see them.
//!
//! | file | what |
//! | --- | --- |
//! | `arithmetic` | each model against hand calculations; queueing laws |
//! | `caching` | cache, controllers, links and paths, and their failures |
//! | `failures` | drives of RAID groups that fail, return and are rebuilt |
//! | `pools` | the same for disk pools; growth of pools and LUNs |
//! | `standing` | the state of groups meanwhile, and the progress of repairs |
//! | `tier` | the solid-state tier |

mod arithmetic;
mod caching;
mod failures;
mod hosts;
mod pools;
mod standing;
mod tier;
