/// What gateways have to bear. It says nothing of how fast workers are, and
/// what scales workers says nothing of this.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct GatewayView {
    /// Requests a second, over all gateways.
    pub rps: f64,
    /// Connections that they hold parked. It follows the workers' latency: a slow
    /// fleet parks more at the same rate.
    pub parked: u64,
}

/// What one gateway bears, and how many there may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GatewayTerms {
    /// Requests a second that one bears; above 0.
    pub rps_each: f64,
    /// Parked connections that one bears; 1 or more.
    pub parked_each: u64,
    /// The fewest.
    pub floor: u32,
    /// The most.
    pub ceiling: u32,
}

/// How many gateways there should be: enough for the request rate, and enough
/// for the parked connections.
pub fn gateways_wanted(view: &GatewayView, terms: &GatewayTerms) -> u32 {
    let by_rate = (view.rps / terms.rps_each.max(f64::MIN_POSITIVE)).ceil() as u32;
    let by_parked = view.parked.div_ceil(terms.parked_each.max(1));
    let by_parked = u32::try_from(by_parked).unwrap_or(u32::MAX);
    by_rate.max(by_parked).max(terms.floor).min(terms.ceiling)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gateways_follow_their_rate_and_what_they_hold_parked() {
        let terms = GatewayTerms {
            rps_each: 1_000.0,
            parked_each: 10_000,
            floor: 2,
            ceiling: 20,
        };
        let wanted = |rps, parked| gateways_wanted(&GatewayView { rps, parked }, &terms);
        assert_eq!(wanted(0.0, 0), 2);
        assert_eq!(wanted(4_500.0, 0), 5);
        assert_eq!(wanted(4_500.0, 70_001), 8, "a slow fleet parks more");
        assert_eq!(wanted(1e12, u64::MAX), 20);
    }
}
