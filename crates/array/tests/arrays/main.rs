//! Whole arrays, as hosts see them.
//!
//! | file | what |
//! | --- | --- |
//! | `arithmetic` | each model against what can be computed by hand; the laws of queues |
//! | `caching` | cache, controllers, links and paths, and what happens when they fail |
//! | `failures` | drives of RAID groups that fail, return and are rebuilt |
//! | `pools` | the same of disk pools, and pools and LUNs that grow |
//! | `standing` | how groups are meanwhile, and how far repairs are |
//! | `tier` | the solid-state tier |

mod arithmetic;
mod caching;
mod failures;
mod hosts;
mod pools;
mod standing;
mod tier;
