use super::*;

fn request(more: Value) -> InstanceRequest {
    let mut request = json!({
        "owner": "o", "deployment": "d", "tier": "pod", "image": "i", "port": 80,
        "vram_mib": 24_576, "gpus": 2,
    });
    for (key, value) in more.as_object().unwrap() {
        request[key] = value.clone();
    }
    serde_json::from_value(request).unwrap()
}

fn ask(gpu: &str, base: f64, min_bid: Option<f64>) -> Ask {
    Ask {
        id: 1,
        gpu_name: gpu.to_owned(),
        gpu_ram: 24_564.0,
        dph_base: base,
        dph_total: base + 0.01,
        min_bid,
        geolocation: Some("Sweden, SE".to_owned()),
        rented: false,
    }
}

#[test]
fn named_gpus_are_searched_for_in_their_order_and_none_is_any() {
    let named = request(json!({ "gpu": ["RTX_4090", "H100 SXM"] }));
    let found = searches(&named, &Settings::default());
    let names: Vec<&Value> = found.iter().map(|it| &it["gpu_name"]["eq"]).collect();
    assert_eq!(names, ["RTX 4090", "H100 SXM"]);
    let any = searches(&request(json!({})), &Settings::default());
    assert_eq!((any.len(), any[0].get("gpu_name")), (1, None));
}

#[test]
fn a_search_asks_for_what_the_request_needs_and_no_more() {
    let one = &searches(
        &request(json!({ "cpus": 4.0, "memory_mib": 8_192 })),
        &Settings::default(),
    )[0];
    assert_eq!(one["num_gpus"]["eq"], 2);
    // A card of 24 GiB says 24,564 MB.
    assert!(one["gpu_ram"]["gte"].as_f64().unwrap() <= 24_564.0);
    assert_eq!(one["allocated_storage"], 20);
    assert_eq!(
        (&one["cpu_ram"]["gte"], &one["type"]),
        (&json!(8_192), &json!("ondemand"))
    );
    let anywhere = Settings {
        verified: false,
        bid: Some(1.2),
        countries: vec!["SE".into()],
        ..Settings::default()
    };
    let one = &searches(&request(json!({})), &anywhere)[0];
    assert_eq!((one.get("verified"), &one["type"]), (None, &json!("bid")));
    assert_eq!(one["geolocation"], json!({ "in": ["SE"] }));
    assert_eq!(one.get("cpu_ram"), None);
}

#[test]
fn a_price_is_with_storage_also_of_a_bid() {
    let (on_demand, bids) = (
        Settings::default(),
        Settings {
            bid: Some(1.5),
            ..Settings::default()
        },
    );
    let ask = ask("RTX 4090", 0.4, Some(0.2));
    assert!((ask.price(&on_demand) - 0.41).abs() < 1e-9);
    assert!((ask.price(&bids) - 0.31).abs() < 1e-9);
    assert_eq!(ask.bid(&on_demand), None);
}

#[test]
fn offers_are_the_cheapest_of_each_type() {
    let asks = vec![
        ask("RTX 4090", 0.5, None),
        ask("H100 SXM", 2.0, None),
        ask("RTX 4090", 0.4, None),
    ];
    let offers = cheapest(asks, &Settings::default());
    let prices: Vec<(&str, f64)> = offers
        .iter()
        .map(|it| (it.id.as_str(), it.usd_per_hour.unwrap()))
        .collect();
    let expected = [("H100 SXM", 2.01), ("RTX 4090", 0.41)];
    assert_eq!(prices.len(), expected.len());
    for ((id, price), (name, usd)) in prices.into_iter().zip(expected) {
        assert_eq!(id, name);
        assert!((price - usd).abs() < 1e-9, "{name} at {price}");
    }
}
