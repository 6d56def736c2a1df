//! Enums that list all their variants.

/// Defines an enum with `ALL`, every variant in order.
macro_rules! listed {
    (
        $(#[$about:meta])*
        $visible:vis enum $name:ident {
            $($(#[$doc:meta])* $variant:ident,)+
        }
    ) => {
        $(#[$about])*
        $visible enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            pub const ALL: [Self; [$(Self::$variant),+].len()] = [$(Self::$variant),+];
        }
    };
}

pub(crate) use listed;
