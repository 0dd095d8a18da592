use super::*;
use crate::{Generation, Params, Source};

const S: u64 = 1_000;

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// Deployments 0.. with the given (endpoint, provider).
fn tree(places: &[(&str, &str)]) -> Tree {
    let mut tree = Tree::default();
    for (slot, (endpoint, provider)) in (0..).zip(places) {
        let mut spec = Spec::new(&format!("d{slot}"), "g", Params::resilient());
        spec.endpoint = Arc::from(*endpoint);
        spec.provider = Arc::from(*provider);
        tree.place(Slot(slot), &spec);
    }
    tree
}

fn note(tree: &mut Tree, slot: u32, class: Class, now: u64) -> Shift {
    let outcome = Outcome::new(class, Source::Traffic, at(now), Generation(0));
    tree.note(Slot(slot), &outcome, at(now))
}

#[test]
fn an_endpoint_comes_into_doubt_by_two_members_and_sixty_per_cent() {
    let mut one = tree(&[("e", "p"); 3]);
    for n in 0..20 {
        assert_eq!(
            note(&mut one, 0, Class::ServerError, n * S),
            Shift::None,
            "one member alone is not the endpoint"
        );
    }
    assert_eq!(note(&mut one, 1, Class::ServerError, 20 * S), Shift::Suspect);
    assert_eq!(note(&mut one, 1, Class::ServerError, 21 * S), Shift::None, "it comes into doubt once");
    assert_eq!(note(&mut one, 2, Class::Ok, 22 * S), Shift::Clear);

    let mut busy = tree(&[("e", "p"); 3]);
    for _ in 0..4 {
        note(&mut busy, 2, Class::Ok, S);
    }
    let mut shifts = Vec::new();
    for n in 0..6 {
        shifts.push(note(&mut busy, n % 2, Class::ServerError, 2 * S));
    }
    assert_eq!(shifts[4], Shift::None, "5 of 9 is less than 60 %");
    assert_eq!(shifts[5], Shift::Suspect, "6 of 10 is 60 %");
}

#[test]
fn an_endpoint_forgets_after_a_minute() {
    let mut tree = tree(&[("e", "p"); 2]);
    note(&mut tree, 0, Class::ServerError, S);
    assert_eq!(note(&mut tree, 1, Class::ServerError, 62 * S), Shift::None, "the first failure is too old");
    assert_eq!(note(&mut tree, 0, Class::ServerError, 63 * S), Shift::Suspect);
    let endpoint = tree.place_of(Slot(0)).unwrap().endpoint;
    assert!(!tree.expire(endpoint, at(63 * S + 59_999)));
    assert!(tree.expire(endpoint, at(123 * S)), "nobody failed for a minute");
}

#[test]
fn c07_two_unrelated_providers_without_an_answer_make_the_pod_suspect_itself() {
    let mut tree = tree(&[("a", "p"), ("b", "q"), ("c", "r")]);
    note(&mut tree, 0, Class::Connection, S);
    assert!(!tree.judge_pod(at(S)), "one provider may simply be down");
    note(&mut tree, 1, Class::Timeout, 5 * S);
    assert!(tree.judge_pod(at(5 * S)));
    assert!(tree.pod_suspect());
    assert!(tree.judge_pod(at(16 * S)), "it ends by itself");
    assert!(!tree.pod_suspect());
}

#[test]
fn c07_answers_prove_that_the_pods_road_works() {
    let pod = |events: &[(u32, Class, u64)]| {
        let mut tree = tree(&[("a", "p"), ("b", "q"), ("c", "r"), ("a", "same host")]);
        for &(slot, class, now) in events {
            note(&mut tree, slot, class, now);
        }
        tree.judge_pod(at(9 * S));
        tree.pod_suspect()
    };
    use Class::{Connection, Ok, ServerError};
    assert!(pod(&[(0, Connection, S), (1, Connection, 2 * S)]));
    assert!(!pod(&[(0, ServerError, S), (1, ServerError, 2 * S)]), "a 500 is an answer");
    assert!(!pod(&[(0, Connection, S), (1, Connection, 2 * S), (1, Ok, 3 * S)]), "one of them answers again");
    assert!(pod(&[(0, Connection, S), (1, Connection, 2 * S), (2, Ok, 3 * S)]), "2 of 3 is more than 60 %");
    assert!(!pod(&[(0, Connection, S), (3, Connection, 2 * S)]), "two names of one host are related");
}

#[test]
fn a_suspect_pod_puts_no_endpoint_in_doubt() {
    let mut tree = tree(&[("a", "p"), ("b", "q"), ("c", "r"), ("c", "r")]);
    note(&mut tree, 0, Class::Connection, S);
    note(&mut tree, 1, Class::Connection, S);
    tree.judge_pod(at(S));
    note(&mut tree, 2, Class::Connection, 2 * S);
    assert_eq!(note(&mut tree, 3, Class::Connection, 2 * S), Shift::None);
}

#[test]
fn trials_of_a_domain_in_doubt_go_one_at_a_time_and_five_seconds_apart() {
    let mut tree = tree(&[("e", "p"); 3]);
    assert!(tree.trial_free(Slot(0), at(0)));
    tree.trial_began(Slot(0), at(25 * S), at(0));
    assert!(tree.trial_free(Slot(1), at(0)), "a domain that is well does not ration trials");

    note(&mut tree, 0, Class::Connection, S);
    note(&mut tree, 1, Class::Connection, S);
    tree.trial_began(Slot(0), at(26 * S), at(S));
    assert!(!tree.trial_free(Slot(1), at(2 * S)));
    assert!(tree.trial_free(Slot(1), at(26 * S)), "a lost lease frees the place");
    note(&mut tree, 0, Class::Ok, 3 * S);
    tree.trial_ended(Slot(0), true, at(3 * S));
    assert!(!tree.trial_free(Slot(1), at(7_999)));
    assert!(tree.trial_free(Slot(1), at(8 * S)), "5 s after the return");
    assert!(tree.trial_free(Slot(2), at(8 * S)));
}

#[test]
fn a_removed_deployment_leaves_its_domains() {
    let mut tree = tree(&[("e", "p"); 2]);
    let endpoint = tree.place_of(Slot(0)).unwrap().endpoint;
    tree.get_mut(endpoint).unwrap().representative = Some(Slot(0));
    tree.remove(Slot(0));
    let domain = tree.get(endpoint).unwrap();
    assert_eq!((domain.members.as_slice(), domain.representative), (&[Slot(1)][..], None));
    assert!(tree.place_of(Slot(0)).is_none());
}
