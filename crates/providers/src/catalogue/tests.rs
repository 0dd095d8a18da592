use std::time::Duration;

use jiff::civil::{Date, date};
use serde_json::json;

use super::*;
use crate::Mode;

fn usd(text: &str) -> Usd {
    Usd::parse(text).unwrap()
}

fn prices(list: &[(PriceKind, &str)]) -> Prices {
    let mut prices = Prices::NONE;
    for (kind, text) in list {
        prices.set(*kind, Some(usd(text)));
    }
    prices
}

mod money {
    use super::*;

    #[test]
    fn dollars_are_read_as_people_and_json_write_them() {
        for (text, femtodollars) in [
            ("0", 0),
            ("-0", 0),
            ("1", 1_000_000_000_000_000),
            ("+1.50", 1_500_000_000_000_000),
            (".5", 500_000_000_000_000),
            ("2.", 2_000_000_000_000_000),
            (" 2.5e-06 ", 2_500_000_000),
            ("2.5E-6", 2_500_000_000),
            ("1.5e3", 1_500_000_000_000_000_000),
            ("1e-400", 0),
            ("0.0000000000000004", 0),
            ("0.0000000000000005", 1),
            ("00000000000000000000000000000000000000000000001", 1_000_000_000_000_000),
            ("0.3333333333333333333333333333333333333333333333", 333_333_333_333_333),
        ] {
            assert_eq!(Usd::parse(text), Ok(Usd::from_femtodollars(femtodollars)), "{text}");
        }
    }

    #[test]
    fn the_noise_of_binary_fractions_is_not_part_of_a_price() {
        assert_eq!(usd("5.0000000000000004e-08"), usd("5e-08"));
        assert_eq!(Usd::from_dollars(0.1 + 0.2), Ok(usd("0.3")));
        assert_eq!(Usd::from_dollars(2.5e-6), Ok(usd("0.0000025")));
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for text in ["", ".", "e5", "1.2.3", "1,5", "0x10", "NaN", "inf", "1e", "1e1.5", "$1", "1 2"] {
            assert_eq!(Usd::parse(text), Err(NotMoney::NotANumber), "{text}");
        }
        assert_eq!(Usd::parse("-0.1"), Err(NotMoney::Negative));
        for text in ["1e40", "1e2147483647", "99999999999999999999999999999999999999999999999999"] {
            assert_eq!(Usd::parse(text), Err(NotMoney::TooLarge), "{text}");
        }
        assert_eq!(Usd::from_dollars(f64::NAN), Err(NotMoney::NotANumber));
        assert_eq!(Usd::from_dollars(f64::INFINITY), Err(NotMoney::NotANumber));
    }

    #[test]
    fn it_is_shown_as_a_plain_decimal() {
        for (text, shown) in
            [("0", "0"), ("1.6e-4", "0.00016"), ("12.5", "12.5"), ("1e-15", "0.000000000000001")]
        {
            assert_eq!(usd(text).to_string(), shown);
        }
        assert_eq!(format!("{:.2}", usd("1.005")), "1.01");
        assert_eq!(format!("{:.6}", usd("0.00016")), "0.000160");
        assert_eq!(format!("{:.0}", usd("1.5")), "2");
        assert_eq!(serde_json::to_value(usd("5e-8")).unwrap(), json!(5e-8));
        assert_eq!(usd("0.0000019").microdollars(), 1);
    }

    #[test]
    fn sums_are_exact_and_stop_at_the_largest() {
        let total: Usd = std::iter::repeat_n(usd("0.1"), 10).sum();
        assert_eq!(total, usd("1"));
        let largest = Usd::from_femtodollars(u128::MAX);
        assert_eq!(largest + usd("1"), largest);
        assert_eq!(largest.times(3), largest);
        assert_eq!(usd("0.006").for_time(Duration::from_millis(660)), usd("0.00396"));
    }

    proptest::proptest! {
        #[test]
        fn a_shown_amount_reads_as_the_same(femtodollars in 0_u128..1_000_000_000_000_000_000_000_000) {
            let amount = Usd::from_femtodollars(femtodollars);
            proptest::prop_assert_eq!(Usd::parse(&amount.to_string()), Ok(amount));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,30}") {
            let _either = Usd::parse(&text);
        }
    }
}

mod cost {
    use PriceKind::*;

    use super::*;

    #[test]
    fn every_kind_of_token_has_its_price() {
        let prices = prices(&[
            (InputToken, "0.01"),
            (OutputToken, "0.1"),
            (CacheReadToken, "0.001"),
            (CacheWriteToken, "0.02"),
            (ReasoningToken, "0.2"),
            (InputAudioToken, "0.03"),
            (OutputAudioToken, "0.3"),
        ]);
        let usage = Usage {
            input_tokens: 100,
            cache_read_tokens: 40,
            cache_write_tokens: 10,
            input_audio_tokens: 5,
            output_tokens: 20,
            reasoning_tokens: 8,
            output_audio_tokens: 2,
            ..Usage::default()
        };
        // 45 plain + 40 read + 10 written + 5 audio; 10 plain + 8 reasoning + 2 audio
        assert_eq!(
            prices.cost(&usage),
            Some(usd("0.45") + usd("0.04") + usd("0.2") + usd("0.15") + usd("3.2"))
        );
    }

    #[test]
    fn a_part_without_a_price_costs_what_the_rest_costs() {
        let prices = prices(&[(InputToken, "0.01"), (OutputToken, "0.1")]);
        let usage = Usage {
            input_tokens: 10,
            cache_read_tokens: 4,
            output_tokens: 3,
            reasoning_tokens: 2,
            ..Usage::default()
        };
        assert_eq!(prices.cost(&usage), Some(usd("0.4")));
    }

    #[test]
    fn a_part_never_exceeds_the_whole() {
        let prices = prices(&[(InputToken, "1"), (CacheReadToken, "0.1")]);
        let usage = Usage { input_tokens: 2, cache_read_tokens: u64::MAX, ..Usage::default() };
        assert_eq!(prices.cost(&usage), Some(usd("0.2")));
    }

    #[test]
    fn an_unknown_price_is_not_zero_and_a_price_of_zero_is() {
        let usage = Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() };
        assert_eq!(Prices::NONE.cost(&usage), None);
        assert_eq!(prices(&[(Page, "1")]).cost(&usage), None);
        assert_eq!(prices(&[(InputToken, "0")]).cost(&usage), Some(Usd::ZERO));
        assert_eq!(prices(&[(InputToken, "1")]).cost(&Usage::default()), None);
    }

    #[test]
    fn an_output_is_billed_once() {
        let both = prices(&[(OutputImage, "0.04"), (OutputImageToken, "0.00003")]);
        let counted = Usage { output_tokens: 1000, output_image_tokens: 1000, images: 1, ..Usage::default() };
        assert_eq!(both.cost(&counted), Some(usd("0.03")));
        let uncounted = Usage { images: 1, ..Usage::default() };
        assert_eq!(both.cost(&uncounted), Some(usd("0.04")));
        let pixels = Usage { images: 1, pixels: 1024 * 1024, ..Usage::default() };
        assert_eq!(
            prices(&[(InputPixel, "1e-8"), (OutputPixel, "0")]).cost(&pixels),
            Some(usd("0.01048576"))
        );
    }

    #[test]
    fn what_is_measured_in_other_units_has_its_price() {
        let second = prices(&[(InputSecond, "0.0001"), (OutputSecond, "0.0001")]);
        let heard = Usage { input_time: Duration::from_millis(660), ..Usage::default() };
        assert_eq!(second.cost(&heard), Some(usd("0.000066")));
        let video = prices(&[(OutputVideoSecond, "0.1"), (OutputSecond720p, "0.3")]);
        let mut made = Usage { output_time: Duration::from_secs(4), ..Usage::default() };
        assert_eq!(video.cost(&made), Some(usd("0.4")));
        made.resolution = Some(Resolution::P720);
        assert_eq!(video.cost(&made), Some(usd("1.2")));
        made.resolution = Some(Resolution::P1080);
        assert_eq!(video.cost(&made), Some(usd("0.4")), "without a price of its own");
        let spoken = Usage { input_characters: 17, ..Usage::default() };
        assert_eq!(prices(&[(InputCharacter, "0.000015")]).cost(&spoken), Some(usd("0.000255")));
        let ranked = Usage { queries: 1, input_tokens: 9, ..Usage::default() };
        assert_eq!(prices(&[(Query, "0.002"), (InputToken, "0")]).cost(&ranked), Some(usd("0.002")));
        let page = Usage { pages: 3, ..Usage::default() };
        assert_eq!(prices(&[(Page, "0.004")]).cost(&page), Some(usd("0.012")));
        let asked = Usage { input_tokens: 1, ..Usage::default() };
        assert_eq!(prices(&[(Request, "0.005"), (InputToken, "0.001")]).cost(&asked), Some(usd("0.006")));
    }

    #[test]
    fn own_prices_replace_the_catalogues_one_by_one() {
        let listed = prices(&[(InputToken, "1"), (OutputToken, "2"), (CacheReadToken, "0.5")]);
        let own = prices(&[(InputToken, "0.1"), (Page, "3")]);
        let both = listed.overridden(&own);
        assert_eq!(
            both.known().collect::<Vec<_>>(),
            [
                (InputToken, usd("0.1")),
                (OutputToken, usd("2")),
                (CacheReadToken, usd("0.5")),
                (Page, usd("3"))
            ]
        );
        assert_eq!(both.token_pair(), Some(usd("2.1")));
        assert_eq!(Prices::NONE.token_pair(), None);
    }

    #[test]
    fn kinds_have_distinct_names() {
        let mut names: Vec<&str> =
            PriceKind::ALL.iter().flat_map(|kind| [kind.key(), kind.column()]).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 2 * PriceKind::ALL.len());
        assert!(PriceKind::ALL.iter().all(|kind| PriceKind::of_key(kind.key()) == Some(*kind)));
        assert!(PriceKind::ALL.iter().all(|kind| PriceKind::of_column(kind.column()) == Some(*kind)));
        assert_eq!(PriceKind::KEYS.len(), PriceKind::ALL.len());
    }
}

mod usage {
    use super::*;

    #[test]
    fn openai_counts_cached_tokens_among_the_others() {
        let chat = json!({"choices": [], "usage": {
            "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
            "prompt_tokens_details": {"cached_tokens": 64, "audio_tokens": 3},
            "completion_tokens_details": {"reasoning_tokens": 12, "audio_tokens": 1}}});
        let expected = Usage {
            input_tokens: 100,
            cache_read_tokens: 64,
            input_audio_tokens: 3,
            output_tokens: 20,
            reasoning_tokens: 12,
            output_audio_tokens: 1,
            ..Usage::default()
        };
        assert_eq!(Usage::of_answer(&chat), Some(expected));
        assert_eq!(expected.tokens(), 120);
        let response = json!({"type": "response.completed", "response": {"usage": {
            "input_tokens": 100, "output_tokens": 20,
            "input_tokens_details": {"cached_tokens": 64}, "output_tokens_details": {"reasoning_tokens": 12}}}});
        let read = Usage::of_answer(&response).unwrap();
        assert_eq!((read.input_tokens, read.cache_read_tokens, read.reasoning_tokens), (100, 64, 12));
    }

    #[test]
    fn anthropic_counts_cached_tokens_beside_the_others() {
        let message = json!({"usage": {"input_tokens": 10, "output_tokens": 5,
            "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20}});
        let read = Usage::of_answer(&message).unwrap();
        assert_eq!((read.input_tokens, read.cache_read_tokens, read.cache_write_tokens), (130, 100, 20));
        assert_eq!(read.output_tokens, 5);
    }

    #[test]
    fn other_units_are_read_where_they_are_stated() {
        let embedding = json!({"usage": {"prompt_tokens": 2, "total_tokens": 2}});
        assert_eq!(Usage::of_answer(&embedding).unwrap().input_tokens, 2);
        let only_total = json!({"usage": {"total_tokens": 7}});
        assert_eq!(Usage::of_answer(&only_total).unwrap().input_tokens, 7);
        let transcript = json!({"text": "two", "usage": {"type": "duration", "seconds": 1.5}});
        assert_eq!(Usage::of_answer(&transcript).unwrap().input_time, Duration::from_millis(1500));
        let ranked = json!({"results": [], "meta": {"billed_units": {"search_units": 1.0}}});
        assert_eq!(Usage::of_answer(&ranked).unwrap().queries, 1);
        let pages = json!({"usage": {"pages_processed": 4}});
        assert_eq!(Usage::of_answer(&pages).unwrap().pages, 4);
    }

    #[test]
    fn an_answer_that_states_none_has_none() {
        for answer in [json!({}), json!({"usage": null}), json!([1]), json!("x"), json!({"usage": 3})] {
            assert_eq!(Usage::of_answer(&answer), None, "{answer}");
        }
        let odd = json!({"usage": {"prompt_tokens": -4, "completion_tokens": "x", "seconds": -1}});
        assert_eq!(Usage::of_answer(&odd), Some(Usage::default()));
    }
}

mod builtin {
    use super::*;

    const SAMPLE: &str = include_str!("../../tests/fixtures/catalogue.tsv");

    #[test]
    fn it_is_small() {
        assert!(Catalogue::builtin().packed().len() < 400_000, "{}", Catalogue::builtin().packed().len());
        assert!(Catalogue::builtin().len() > 4_800);
    }

    /// Reads the source cell by cell with nothing but the standard library, so that a fault of the reader shows.
    fn agrees(catalogue: &Catalogue, source: &str) -> usize {
        let mut lines = source.lines();
        let columns: Vec<&str> = lines.next().unwrap().split('\t').collect();
        let mut rows = 0;
        for line in lines {
            let cells: Vec<&str> = line.split('\t').collect();
            let row =
                catalogue.packed.search(&[cells[0]]).unwrap_or_else(|| panic!("{} is missing", cells[0]));
            let mut facts = catalogue.packed.facts(row).unwrap();
            for (column, cell) in columns.iter().zip(cells) {
                let held = held(&mut facts, column);
                let same = match (cell.parse::<f64>(), held.parse::<f64>()) {
                    (Ok(cell), Ok(held)) => (cell - held).abs() <= 6e-16,
                    _ => cell == held,
                };
                assert!(same, "{}: {column} is {cell:?}, held as {held:?}", facts.name);
            }
            rows += 1;
        }
        rows
    }

    fn held(facts: &mut ModelFacts<'_>, column: &str) -> String {
        let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
        let flag = |flag: Option<bool>| flag.map(|flag| u8::from(flag).to_string()).unwrap_or_default();
        match column {
            "model" => facts.name.to_string(),
            "provider" => facts.provider.to_string(),
            "mode" => facts.kind.to_string(),
            "endpoints" => facts.endpoints.to_string(),
            "max_in" => number(facts.max_input_tokens),
            "max_out" => number(facts.max_output_tokens),
            "vec_dim" => number(facts.vector_dimensions),
            "rpm" => number(facts.rpm),
            "tpm" => number(facts.tpm),
            "deprecated_on" => facts.deprecated_on.map(|date| date.to_string()).unwrap_or_default(),
            "reasoning" => flag(facts.reasoning),
            "thinking_always_on" => flag(facts.always_thinks),
            "thinking_default_on" => flag(facts.thinks_by_default),
            "none_effort" => flag(facts.effort_none),
            "minimal_effort" => flag(facts.effort_minimal),
            "sampling_params" => flag(facts.sampling),
            price => {
                let price = facts.prices.get(PriceKind::of_column(price).unwrap());
                price.map(|price| price.to_string()).unwrap_or_default()
            }
        }
    }

    #[test]
    fn every_cell_is_what_its_source_says() {
        let catalogue = Catalogue::builtin();
        assert!(agrees(&catalogue, SAMPLE) > 40);
        // The whole source is not part of the repository; where it is at hand, all of it is compared.
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/models.tsv");
        if let Ok(source) = std::fs::read_to_string(source) {
            assert_eq!(agrees(&catalogue, &source), catalogue.len());
        }
    }

    #[test]
    fn the_table_reads_back_to_the_same_bytes() {
        let builtin = Catalogue::builtin();
        let again = Catalogue::read(builtin.to_table().as_bytes()).unwrap();
        assert_eq!(again.packed(), builtin.packed());
    }

    #[test]
    fn rows_are_sorted_and_each_is_found_in_any_case() {
        let catalogue = Catalogue::builtin();
        let mut before = String::new();
        for facts in catalogue.rows() {
            let lower = facts.name.to_ascii_lowercase();
            assert!(before < lower, "{before} before {lower}");
            let row = catalogue.packed.search(&[&facts.name.to_ascii_uppercase()]).unwrap();
            assert_eq!(catalogue.packed.facts(row).unwrap(), facts);
            before = lower;
        }
    }
}

mod find {
    use super::*;

    fn found(provider: &str, model: &str) -> String {
        let catalogue = Catalogue::builtin();
        catalogue.find(provider, model).map(|facts| facts.name.into_owned()).unwrap_or_default()
    }

    #[test]
    fn with_and_without_the_providers_prefix() {
        assert_eq!(found("openai", "gpt-4o"), "gpt-4o");
        assert_eq!(found("openai", "openai/gpt-4o"), "gpt-4o");
        assert_eq!(found("groq", "openai/gpt-oss-20b"), "groq/openai/gpt-oss-20b");
        assert_eq!(found("groq", "groq/openai/gpt-oss-20b"), "groq/openai/gpt-oss-20b");
        assert_eq!(found("gemini", "gemini-2.5-flash"), "gemini/gemini-2.5-flash");
        assert_eq!(found("anthropic", "Claude-Sonnet-4-5"), "claude-sonnet-4-5");
    }

    #[test]
    fn another_providers_row_is_never_taken() {
        assert_eq!(found("groq", "gpt-4o"), "");
        assert_eq!(found("hosted_vllm", "gpt-4o"), "");
        assert_eq!(found("openai", "claude-sonnet-4-5"), "");
        assert_eq!(found("nobody", "gpt-4o"), "");
    }

    #[test]
    fn names_of_one_provider_count_as_one() {
        assert_eq!(found("cohere", "command-r-08-2024"), "command-r-08-2024");
        assert_eq!(found("cohere_chat", "cohere_chat/command-r-08-2024"), "command-r-08-2024");
        assert_eq!(found("openai", "babbage-002"), "babbage-002");
        assert_eq!(found("vertex_ai", "gemini-2.5-flash"), "gemini-2.5-flash");
        assert_eq!(found("azure_text", "gpt-35-turbo-instruct"), "azure/gpt-35-turbo-instruct");
        assert_eq!(found("azure_ai", "gpt-4o"), "gpt-4o", "as Azure and OpenAI charge for it");
    }

    #[test]
    fn bedrock_routes_regions_and_areas_are_not_part_of_the_name() {
        let haiku = "anthropic.claude-3-5-haiku-20241022-v1:0";
        assert_eq!(found("bedrock", &format!("bedrock/{haiku}")), haiku);
        assert_eq!(found("bedrock", &format!("bedrock/converse/{haiku}")), haiku);
        assert_eq!(found("bedrock", &format!("bedrock/invoke/mx-central-1/{haiku}")), haiku);
        assert_eq!(found("bedrock", &format!("ca.{haiku}")), haiku);
        let regional = "bedrock/ap-northeast-1/mistral.voxtral-mini-3b-2507";
        assert_eq!(found("bedrock", regional), regional, "a region with a price of its own");
        let area = "us.anthropic.claude-haiku-4-5-20251001-v1:0";
        assert_eq!(found("bedrock", &format!("bedrock/{area}")), area, "an area with a price of its own");
    }

    #[test]
    fn dates_versions_and_owners_are_left_out_when_the_name_is_not_listed() {
        assert_eq!(found("openai", "gpt-4o-2031-01-31"), "gpt-4o");
        assert_eq!(found("anthropic", "claude-sonnet-4-5-20310131"), "claude-sonnet-4-5");
        assert_eq!(found("gemini", "gemini-2.5-flash-001"), "gemini/gemini-2.5-flash");
        assert_eq!(found("vertex_ai", "gemini-2.5-flash@default"), "gemini-2.5-flash");
        assert_eq!(found("openai", "ft:gpt-3.5-turbo:my-org:suffix:id"), "ft:gpt-3.5-turbo");
        assert_eq!(found("openai", "ft:gpt-3.5-turbo:my-org::id"), "ft:gpt-3.5-turbo");
        for model in ["", "-", "ft:", "ft:::", "a-2024-01-01", "2024-01-01", "é-01", "/", "gpt-4o/"] {
            for provider in ["openai", "bedrock", "gemini", ""] {
                assert_eq!(found(provider, model), "", "{provider} {model:?}");
            }
        }
    }

    #[test]
    fn a_base_model_may_be_another_providers() {
        let catalogue = Catalogue::builtin();
        let name = |base| catalogue.find_base("azure", base).map(|facts| facts.name.into_owned());
        assert_eq!(name("azure/gpt-4o").as_deref(), Some("azure/gpt-4o"));
        assert_eq!(name("gpt-4o").as_deref(), Some("azure/gpt-4o"));
        assert_eq!(name("openai/gpt-4o").as_deref(), Some("gpt-4o"));
        assert_eq!(name("claude-sonnet-4-5").as_deref(), Some("claude-sonnet-4-5"));
        assert_eq!(name("no-such-model"), None);
    }

    #[test]
    fn an_image_has_the_price_of_its_size_and_quality() {
        let catalogue = Catalogue::builtin();
        let name = |provider, model, quality, size| {
            catalogue.find_image(provider, model, quality, size).unwrap().name.into_owned()
        };
        assert_eq!(name("azure", "dall-e-3", "hd", "1024x1024"), "azure/hd/1024-x-1024/dall-e-3");
        assert_eq!(name("openai", "openai/gpt-image-1", "nope", "7x7"), "gpt-image-1");
    }

    #[test]
    fn facts_say_what_a_model_is() {
        let catalogue = Catalogue::builtin();
        let gpt = catalogue.find("openai", "gpt-5").unwrap();
        assert_eq!(gpt.mode(), Some(Mode::Chat));
        assert_eq!((gpt.max_input_tokens, gpt.max_output_tokens), (Some(272_000), Some(128_000)));
        assert_eq!(
            (gpt.reasoning, gpt.effort_none, gpt.effort_minimal),
            (Some(true), Some(false), Some(true))
        );
        assert_eq!(gpt.prices.get(PriceKind::InputToken), Some(usd("0.00000125")));
        assert_eq!(gpt.at_endpoint("/v1/chat/completions"), Some(true));
        assert_eq!(gpt.at_endpoint("/v1/images/generations"), Some(false));
        assert!(!gpt.is_retired(date(2026, 12, 10)) && gpt.is_retired(date(2026, 12, 11)));
        let opus = catalogue.find("anthropic", "claude-opus-5-5").unwrap();
        assert_eq!(
            (opus.always_thinks, opus.sampling, opus.at_endpoint("/v1/x")),
            (Some(true), Some(false), None)
        );
    }

    proptest::proptest! {
        #[test]
        fn any_name_is_looked_up_without_harm(provider in "\\PC{0,12}", model in "\\PC{0,40}") {
            let catalogue = Catalogue::builtin();
            let _any = catalogue.find(&provider, &model);
            let _any = catalogue.find_base(&provider, &model);
            let _any = catalogue.find_image(&provider, &model, &model, &provider);
        }
    }
}

mod wildcard {
    use super::*;

    const TODAY: Date = date(2026, 11, 30);

    fn first(provider: &str, pattern: &str) -> String {
        let candidates = Catalogue::builtin().probe_candidates(provider, pattern);
        let current =
            candidates.into_iter().find(|candidate| candidate.deprecated_on.is_none_or(|day| day > TODAY));
        current.map(|candidate| candidate.model).unwrap_or_default()
    }

    #[test]
    fn a11_the_cheapest_current_chat_model_stands_for_a_pattern() {
        assert_eq!(first("openai", "*"), "gpt-5-nano");
        assert_eq!(first("openai", "gpt-4o*"), "gpt-4o-mini");
        assert_eq!(first("anthropic", "*"), "claude-haiku-5-5");
        assert_eq!(first("gemini", "gemini-2.5-*"), "gemini-2.5-flash-lite");
        assert_eq!(first("groq", "*"), "openai/gpt-oss-20b", "a guard is no chat model");
        assert_eq!(first("mistral", "*"), "ministral-3-3b-2512");
    }

    #[test]
    fn nobody_stands_for_names_that_the_operator_gives() {
        for provider in ["azure", "hosted_vllm", "ollama", "openai_like"] {
            assert_eq!(first(provider, "*"), "", "{provider}");
        }
        assert_eq!(first("openai", "nothing-like-this-*"), "");
    }

    #[test]
    fn what_stands_is_served_by_the_pattern_and_is_a_model() {
        for (provider, pattern) in
            [("openai", "gpt-*"), ("bedrock", "*claude*"), ("fireworks_ai", "*"), ("together_ai", "*")]
        {
            let candidates = Catalogue::builtin().probe_candidates(provider, pattern);
            assert!(!candidates.is_empty(), "{provider}");
            for candidate in candidates {
                let name = &candidate.model;
                assert!(
                    !name.starts_with("ft:") && !name.contains("-base") && !name.starts_with("fireworks-ai-"),
                    "{name}"
                );
                assert!(pattern != "gpt-*" || name.starts_with("gpt-"), "{name}");
                assert!(pattern != "*claude*" || name.contains("claude"), "{name}");
            }
        }
    }
}

mod files {
    use super::*;

    fn error(text: &str) -> String {
        Catalogue::read(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn a_table_may_have_fewer_columns_in_any_order() {
        let table = "out_tok\tmodel\tprovider\n2e-6\tmine\topenai\n\n\tother\t\n";
        let catalogue = Catalogue::read(table.as_bytes()).unwrap();
        assert_eq!(catalogue.len(), 2);
        let mine = catalogue.find("openai", "mine").unwrap();
        assert_eq!(mine.prices.get(PriceKind::OutputToken), Some(usd("0.000002")));
        assert!(catalogue.find("groq", "mine").is_none());
        assert!(catalogue.find("groq", "other").is_some(), "a row without a provider is anybody's");
        assert!(catalogue.find("openai", "gpt-4o").is_none(), "a file replaces the built-in catalogue");
    }

    #[test]
    fn windows_line_ends_and_a_byte_order_mark_are_no_part_of_it() {
        let catalogue = Catalogue::read("\u{feff}model\tmode\r\nmine\tchat\r\n".as_bytes()).unwrap();
        assert_eq!(catalogue.find("openai", "mine").unwrap().mode(), Some(Mode::Chat));
    }

    #[test]
    fn a_fault_of_a_table_is_named_with_its_line() {
        for (text, expected) in [
            ("", "line 1: there is no column \"\""),
            ("modle\n", "line 1: there is no column \"modle\": did you mean \"mode\"?"),
            ("provider\tmode\n", "line 1: there is no column \"model\": the first line names the columns"),
            ("model\tmodel\n", "line 1: the column \"model\" is there twice"),
            (
                "model\tin_tok\na\t1e-6\nb\tfree\n",
                "line 3: in_tok: \"free\": it is not a number of US dollars",
            ),
            ("model\tin_tok\na\t-1\n", "line 2: in_tok: \"-1\": an amount cannot be below zero"),
            ("model\tin_tok\na\t20000\n", "line 2: in_tok: \"20000\": a price per unit must be below 18446"),
            ("model\tmax_in\na\t1.5\n", "line 2: max_in: \"1.5\" is not a whole number"),
            ("model\tdeprecated_on\na\t2026-13-01\n", "line 2: deprecated_on: \"2026-13-01\" is not a day"),
            ("model\treasoning\na\tyes\n", "line 2: reasoning: \"yes\" is neither 1 nor 0"),
            ("model\tmode\n\tchat\n", "line 2: model: the name is missing"),
            ("model\na\tb\n", "line 2: \"b\" stands in no column"),
            ("model\na\nb\nA\n", "line 4: the model \"A\" is on line 2 already"),
            ("model\n", "line 0: the file holds no model"),
        ] {
            assert!(error(text).starts_with(expected), "{text:?} gives {}", error(text));
        }
        let long = format!("model\na\n{}\n", "x".repeat(256));
        assert!(error(&long).starts_with("line 3: the name is longer"), "{}", error(&long));
        assert_eq!(Catalogue::read(b"model\na\n\xff\n").unwrap_err().line, 3);
    }

    #[test]
    fn litellms_price_map_is_read_as_it_is() {
        let map = r#"{
          "sample_spec": {"mode": "one of: chat", "deprecation_date": "when"},
          "gpt-x": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1e-06,
            "output_cost_per_token": "2e-06", "max_tokens": 4096, "max_input_tokens": 8192, "supports_reasoning": true,
            "supported_endpoints": ["/v1/chat/completions", "/v1/responses"], "deprecation_date": "2027-01-31",
            "search_context_cost_per_query": {"low": 1}, "supports_vision": true, "output_vector_size": null},
          "gpt-latest": {"alias_of": "gpt-x"}
        }"#;
        let catalogue = Catalogue::read(map.as_bytes()).unwrap();
        assert_eq!(catalogue.len(), 2);
        let facts = catalogue.find("openai", "gpt-latest").unwrap();
        assert_eq!((facts.max_input_tokens, facts.max_output_tokens), (Some(8192), Some(4096)));
        assert_eq!(facts.prices.token_pair(), Some(usd("0.000003")));
        assert_eq!((facts.reasoning, facts.deprecated_on), (Some(true), Some(date(2027, 1, 31))));
        assert_eq!(facts.endpoints, "/v1/chat/completions,/v1/responses");
        let original = catalogue.find("openai", "gpt-x").unwrap();
        assert_eq!(ModelFacts { name: original.name.clone(), ..facts }, original);
    }

    #[test]
    fn a_fault_of_a_price_map_is_named_with_its_line() {
        for (text, expected) in [
            ("{\n \"a\": {,}\n}", "line 2: it is no JSON object of models"),
            ("{\n\n \"a\": 3\n}", "line 3: \"a\" must be an object of facts"),
            ("{\"a\": {\n\"mode\": 3}}", "line 2: mode of \"a\": it must be a string"),
            (
                "{\"a\": {\"mode\": \"chat\",\n\n\"rpm\": 1.5}}",
                "line 3: rpm of \"a\": \"1.5\" is not a whole number",
            ),
            (
                "{\"a\": {\n\"input_cost_per_token\": -1}}",
                "line 2: input_cost_per_token of \"a\": \"-1\": an amount",
            ),
            (
                "{\"a\": {\n\"supports_reasoning\": \"x\"}}",
                "line 2: supports_reasoning of \"a\": it must be true or",
            ),
            ("{\"a\":\n {\"alias_of\": \"b\"}}", "line 2: \"a\" is an alias of \"b\", which is not there"),
            ("{\"sample_spec\": {}}", "line 0: the file holds no model"),
        ] {
            assert!(error(text).starts_with(expected), "{text:?} gives {}", error(text));
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_a_catalogue_or_a_fault(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _either = Catalogue::read(&bytes);
        }

        #[test]
        fn a_damaged_packed_form_is_refused_or_harmless(at in 0_usize..400_000, byte in proptest::num::u8::ANY) {
            let mut bytes = BUILTIN.to_vec();
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
            if let Some(packed) = Packed::open(bytes.into()) {
                for row in (0..packed.len()).step_by(97) {
                    let _any = packed.facts(row);
                }
                let _any = packed.search(&["gpt-4o"]);
            }
        }
    }
}
