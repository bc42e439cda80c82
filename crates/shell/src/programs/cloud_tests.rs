use crate::corpus_tests::{findings, has_effect};

#[test]
fn only_the_verb_can_be_a_request_for_help() {
    for source in [
        "kubectl delete pod help",
        "kubectl -n help delete pod x",
        "kubectl --cache-dir help delete pod x",
        "kubectl --cache-dir get delete pod x",
        "kubectl delete pod x -n --help",
        "kubectl exec x -- sh -c 'rm a' --help",
        "kubectl run x --image=y -- --help",
        "helm uninstall help",
        "helm upgrade x y --version 1.2.3",
        "helm --version 1.2.3 upgrade x y",
        "helm --registry-config list uninstall x",
        "terraform destroy -target help",
        "pulumi destroy --stack --help",
        "pulumi destroy --version",
    ] {
        assert!(has_effect(source, "cloud:write *"), "{source}");
        assert!(!findings(source).is_empty(), "{source}");
    }
    for source in [
        "kubectl help delete",
        "kubectl delete --help",
        "kubectl delete pod --help",
        "helm help upgrade",
        "helm upgrade --help",
        "terraform apply --help",
        "pulumi help",
    ] {
        assert!(has_effect(source, "cloud:read *"), "{source}");
        assert_eq!(findings(source), Vec::<String>::new(), "{source}");
    }
}

#[test]
fn a_dry_run_is_an_option_of_the_client_itself() {
    for source in [
        "kubectl exec x -- sh -c 'rm a' --dry-run=client",
        "kubectl apply -f x --field-manager --dry-run=client",
        "kubectl apply -f x --dry-run=none",
        "kubectl apply -f x --dry-run=client --dry-run=none",
        "kubectl apply -f x --dry-run=client --overwrite --dry-run=none",
        "helm upgrade x y --dry-run=none",
        "helm upgrade x y --dry-run=false",
        "helm upgrade x y --description --dry-run",
    ] {
        assert!(has_effect(source, "cloud:write *"), "{source}");
    }
    for source in [
        "kubectl apply -f x --dry-run=client",
        "kubectl delete pods --all --dry-run=server",
        "helm upgrade --install --dry-run x y",
        "helm upgrade x y --dry-run=client",
    ] {
        assert_eq!(findings(source), Vec::<String>::new(), "{source}");
    }
}
